import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { parse } from "yaml"
import { rulesFile } from "../../scripts/alerts.ts"
import { alertmanagerTool, promtool } from "../support/processes/OperatorTool.ts"
import * as Shipped from "./Shipped.ts"

interface Series {
  readonly series: string
  readonly values: string
}

interface AlertTest {
  readonly alertname: string
  readonly eval_time: string
  readonly exp_alerts?: ReadonlyArray<object>
}

interface RuleTest {
  readonly name: string
  readonly interval: string
  readonly input_series: ReadonlyArray<Series>
  readonly alert_rule_test: ReadonlyArray<AlertTest>
}

interface RuleTests {
  readonly evaluation_interval: string
  readonly group_eval_order: ReadonlyArray<string>
  readonly tests: ReadonlyArray<RuleTest>
}

const testFiles = ["prometheus/rules.test.yml", "prometheus/rules.slow.test.yml"]

/** The tests with every scalar as text, because other schemas of YAML read series such as `0x10` as numbers. */
const shippedTests = testFiles.map((path): RuleTests => parse(Shipped.read(path), { schema: "failsafe" }))

/** Runs a function on the path of a temporary file with this content. */
const withFile = <A>(content: string, use: (path: string) => A): A => {
  const directory = mkdtempSync(join(tmpdir(), "quarry-rules-"))
  try {
    const path = join(directory, "file.yml")
    writeFileSync(path, content)
    return use(path)
  } finally {
    rmSync(directory, { recursive: true })
  }
}

/** What promtool finds wrong with rules in a changed form of the shipped tests. */
const failuresOf = (
  file: RuleTests,
  change: (test: RuleTest) => RuleTest,
  rules = `${Shipped.directory}prometheus/rules.yml`
): string =>
  withFile(JSON.stringify({ ...file, rule_files: [rules], tests: file.tests.map(change) }), (path) =>
    promtool.complaints(["test", "rules", path])
  )

const ofAnotherService = (series: Series): Series => ({
  ...series,
  series: series.series.replace('job="quarry"', 'job="shop"')
})

const steady = (name: string, labels: string, values: string): Series => ({ series: `${name}{${labels}}`, values })

/** What a healthy service beside Quarry reports under the same names: each could hide a fault if it were counted. */
const healthyNeighbor: ReadonlyArray<Series> = [
  steady("process_uptime_seconds", 'job="shop",instance="z"', "0+60x500"),
  steady("http_server_request_duration_seconds_count", 'job="shop",http_response_status_code="200"', "0+1000000x500"),
  ...["a", "b"].map((instance) =>
    steady(
      "db_client_operation_duration_seconds_count",
      `job="shop",instance="${instance}",db_system_name="postgresql",error_type=""`,
      "0+1000x500"
    )
  ),
  steady("http_server_active_requests", 'job="shop",instance="z"', "100000x500"),
  steady("quarry_ledger_verified_time_seconds", 'job="shop",instance="z"', "0+3600x500"),
  steady("quarry_ledger_checks_total", 'job="shop",instance="z",outcome="clean"', "0+10x500"),
  steady("quarry_billing_events_total", 'job="shop",instance="z",outcome="stored"', "0+10x500"),
  steady("quarry_authentications_total", 'job="shop",kind="key",outcome="accepted"', "0+100000x500"),
  ...[
    ["meta", "google"],
    ["meta", "bing"]
  ].flatMap(([provider, engine]) => [
    steady(
      "quarry_provider_attempt_duration_seconds_count",
      `job="shop",provider="${provider}",engine="${engine}",outcome="ok"`,
      "0+100x500"
    ),
    ...["r", "s", "t"].map((instance) =>
      steady(
        "quarry_provider_breaker",
        `job="shop",instance="${instance}",provider="${provider}",engine="${engine}",state="closed"`,
        "1x500"
      )
    )
  ])
]

promtool.describe("Prometheus's own tool", () => {
  it("accepts the configuration and the rules, also for another selector", () => {
    assert.strictEqual(promtool.complaints(["check", "config", `${Shipped.directory}prometheus/prometheus.yml`]), "")
    assert.strictEqual(promtool.complaints(["check", "rules", `${Shipped.directory}prometheus/rules.yml`]), "")
    const others = rulesFile('job=~"prod/quarry-.*",cluster="eu"')
    assert.strictEqual(
      withFile(others, (path) => promtool.complaints(["check", "rules", path])),
      ""
    )
  })

  it("sees every alert fire for its fault", () => {
    for (const path of testFiles) {
      assert.strictEqual(promtool.complaints(["test", "rules", Shipped.directory + path]), "")
    }
    const fired = shippedTests
      .flatMap(({ tests }) => tests)
      .flatMap((test) => test.alert_rule_test)
      .flatMap(({ alertname, exp_alerts = [] }) => (exp_alerts.length > 0 ? [alertname] : []))
    const alerts = Shipped.rules.flatMap(({ alert }) => alert ?? [])
    assert.deepStrictEqual([...new Set(fired)].toSorted(), alerts.toSorted())
  })

  it("sees no alert fire for another service's fault", () => {
    for (const file of shippedTests) {
      const failures = failuresOf(file, ({ alert_rule_test, input_series, interval, name }) => ({
        name,
        interval,
        input_series: [
          ...input_series.map(ofAnotherService),
          steady("process_uptime_seconds", 'job="quarry",instance="a"', "0+60x500")
        ],
        alert_rule_test: alert_rule_test.map(({ alertname, eval_time }) => ({ alertname, eval_time }))
      }))
      assert.strictEqual(failures, "")
    }
  })

  it("sees every alert fire beside a healthy service that reports the same metrics", () => {
    for (const file of shippedTests) {
      const failures = failuresOf(file, ({ alert_rule_test, input_series, interval, name }) => ({
        name,
        interval,
        input_series: [...input_series, ...healthyNeighbor],
        alert_rule_test
      }))
      assert.strictEqual(failures, "")
    }
  })

  it("sees the alerts of a deployment under another name, with the labels of its selector", () => {
    const renamed = (test: RuleTest): RuleTest =>
      JSON.parse(
        JSON.stringify(test)
          .replaceAll('job=\\"quarry\\"', 'job=\\"search\\"')
          .replaceAll('"job":"quarry"', '"job":"search"')
      )
    withFile(rulesFile('job="search"'), (rules) => {
      const [file] = shippedTests
      assert.isDefined(file)
      const [first] = file.tests
      assert.isDefined(first)
      assert.strictEqual(failuresOf({ ...file, tests: [first] }, renamed, rules), "")
    })
  })

  it("can read every expression of the dashboards", () => {
    const rules = Shipped.expressions.map(({ expr }, index) => ({ record: `expression:${index}`, expr }))
    const file = JSON.stringify({ groups: [{ name: "dashboards", rules }] })
    assert.strictEqual(
      withFile(file, (path) => promtool.complaints(["check", "rules", path])),
      ""
    )
  })
})

alertmanagerTool.describe("Alertmanager's own tool", () => {
  const config = `${Shipped.directory}alertmanager/alertmanager.yml`
  const receiverOf = (...labels: ReadonlyArray<string>) =>
    alertmanagerTool.output(["config", "routes", "test", `--config.file=${config}`, ...labels]).trim()

  it("accepts the example", () => {
    assert.strictEqual(alertmanagerTool.complaints(["check-config", config]), "")
  })

  it("sees pages wake somebody, and tickets and other services' alerts wait", () => {
    assert.strictEqual(receiverOf("job=quarry", "severity=page"), "pages")
    assert.strictEqual(receiverOf("job=quarry", "severity=ticket"), "tickets")
    assert.strictEqual(receiverOf("job=shop", "severity=page"), "tickets")
  })
})
