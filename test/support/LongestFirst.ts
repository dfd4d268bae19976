import { BaseSequencer, type TestSpecification } from "vitest/node"

/** Files that start processes, longest first as they were last measured; the rest takes seconds or less. */
const longest = [
  "deploy/image",
  "bench/bench",
  "e2e/telemetry",
  "otel/alerts",
  "layers/sql/Connections",
  "deploy/proxies",
  "e2e/rotation",
  "e2e/torture/requests",
  "e2e/torture/postgres",
  "e2e/torture/",
  "e2e/first",
  ".system.test.ts",
  "e2e/start",
  "layers/redis/RedisConnection",
  "e2e/",
  ".integration.test.ts"
]

const placeOf = ({ moduleId }: TestSpecification): number => {
  const place = longest.findIndex((part) => moduleId.includes(part))
  return place < 0 ? longest.length : place
}

/** Begins with the longest files: one that is begun last would be waited for by idle workers. */
export default class LongestFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    return (await super.sort(files)).toSorted((a, b) => placeOf(a) - placeOf(b))
  }
}
