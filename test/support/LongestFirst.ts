import { BaseSequencer, type TestSpecification } from "vitest/node"

/**
 * Files of one project follow each other. Otherwise a worker that keeps its modules would end, because it serves the next
 * file only if that is of its project.
 */
const projects = ["system", "dashboard-system", "dashboard", "integration", "in-process"]

/**
 * Files that took more than a minute in the gate, with their hooks, and the largest of `npm test`. Without the times of an
 * earlier run, Vitest starts the smallest files last, and those of conformance suites are eight lines long.
 */
const longest = [
  "e2e/torture/cost.system",
  "deploy/image.system",
  "bench/bench.system",
  "otel/alerts.system",
  "e2e/operations/cli.system",
  "e2e/operations/rotation.system",
  "e2e/telemetry/telemetry.system",
  "otel/rules.system",
  "e2e/lifecycle/start.system",
  "e2e/operations/crash.system",
  "layers/sql/operations/BackupsSql.system",
  "layers/auth/Postgres.system",
  "layers/sql/store/Faults.system",
  "e2e/lifecycle/signals.system",
  "deploy/proxies.system",
  "e2e/torture/requests.system",
  "layers/outgoing/ServerFaults.system",
  "dashboard/playground.system",
  "clients/pythonTests.system",
  "layers/sql/store/Connections.system",
  "layers/pages/PageParserThreads.system",
  "layers/index/crawl/SiteCrawl.system",
  "e2e/operations/inspection.system",
  "services/webhooks/EventWork.system",
  "e2e/lifecycle/first.system",
  "simulation/seeds.system",
  "bench/baseline.system",
  "dashboard/operator/console.integration",
  "e2e/lifecycle/idleConnections.system",
  "dashboard/whole/firefox.system",
  "e2e/operations/portableBackup.system",
  "layers/sql/credits/UsageHours.system",
  "layers/sql/credits/LedgerSql.integration",
  "layers/sql/store/Postgres.integration",
  "dashboard/account.integration",
  "dashboard/whole/faults.system",
  "dashboard/billing.system",
  "dashboard/whole/layout.system",
  "layers/auth/SignInAbuse.test",
  "layers/auth/Apps.test",
  "layers/sql/store/Pglite.test",
  "http/accounts/credentials.test",
  "layers/auth/SessionsBetterAuth.test",
  "layers/auth/SecondFactors.test"
]

const placeOf = ({ moduleId, project }: TestSpecification): number => {
  const place = longest.findIndex((part) => moduleId.includes(part))
  return projects.indexOf(project.name) * (longest.length + 1) + (place < 0 ? longest.length : place)
}

/** Starts the slowest files first, so that no worker waits at the end for a file that started last. */
export default class LongestFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    return (await super.sort(files)).toSorted((a, b) => placeOf(a) - placeOf(b))
  }
}
