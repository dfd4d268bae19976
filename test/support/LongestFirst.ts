import { BaseSequencer, type TestSpecification } from "vitest/node"

/** Files that took more than a minute in the gate, with their hooks; then the other kinds by duration. */
const longest = [
  "e2e/torture/cost.system",
  "deploy/image.system",
  "bench/bench.system",
  "otel/alerts.system",
  "e2e/operations/cli.system",
  "e2e/operations/rotation.system",
  "e2e/telemetry/telemetry.system",
  "otel/rules.system",
  "e2e/lifecycle/start.integration",
  "e2e/operations/crash.system",
  "e2e/lifecycle/signals.integration",
  "deploy/proxies.system",
  "e2e/torture/requests.system",
  "layers/outgoing/ServerFaults.integration",
  "dashboard/playground.integration",
  "clients/python.integration",
  "layers/sql/store/Connections.system",
  "e2e/operations/inspection.integration",
  "services/webhooks/EventWork.integration",
  "e2e/lifecycle/first.system",
  "simulation/seeds.system",
  "bench/baseline.system",
  "dashboard/entry.integration",
  "e2e/lifecycle/idleConnections.system",
  "dashboard/whole/firefox.integration",
  "e2e/operations/portableBackup.integration",
  "layers/sql/store/Postgres.integration",
  "dashboard/account.integration",
  "dashboard/whole/faults.integration",
  "dashboard/billing.integration",
  "dashboard/whole/layout.integration",
  ".system.test.ts",
  ".integration.test.ts"
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
