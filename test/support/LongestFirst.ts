import { BaseSequencer, type TestSpecification } from "vitest/node"

/** Slowest files by last measured duration (from vitest's JSON report). The others take seconds or less. */
const longest = [
  "deploy/image",
  "bench/bench",
  "e2e/telemetry",
  "otel/alerts",
  "layers/sql/Connections",
  "deploy/proxies",
  "e2e/rotation",
  "e2e/torture/cost",
  "e2e/torture/requests",
  "e2e/torture/postgres",
  "e2e/torture/",
  "e2e/first",
  ".system.test.ts",
  "e2e/start",
  "dashboard/playground",
  "layers/redis/RedisConnection",
  "dashboard/billing",
  "layers/sql/LedgerSql.integration",
  "layers/sql/Pglite.integration",
  "dashboard/account",
  "dashboard/keys",
  "dashboard/entry",
  "dashboard/log",
  "dashboard/overview",
  "layers/sql/Migrations",
  "clients/python",
  "layers/redis/PacerRedis",
  "services/Reconciler.integration",
  "layers/providers/Faults",
  "e2e/",
  ".integration.test.ts",
  "layers/providers/Hostile",
  "simulation/embedded",
  "http/credentials"
]

const placeOf = ({ moduleId }: TestSpecification): number => {
  const place = longest.findIndex((part) => moduleId.includes(part))
  return place < 0 ? longest.length : place
}

/** Starts the slowest files first, so that no worker waits at the end for a file that started last. */
export default class LongestFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    return (await super.sort(files)).toSorted((a, b) => placeOf(a) - placeOf(b))
  }
}
