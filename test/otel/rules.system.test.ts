import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { rulesFile } from "../../scripts/alerts.ts"
import { alertmanagerTool, promtool } from "../support/processes/OperatorTool.ts"
import * as Shipped from "./Shipped.ts"

interface RuleTests {
  readonly tests: ReadonlyArray<{
    readonly alert_rule_test: ReadonlyArray<{ readonly alertname: string; readonly exp_alerts?: ReadonlyArray<object> }>
  }>
}

const testFiles = ["prometheus/rules.test.yml", "prometheus/rules.slow.test.yml"]

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
    const fired = testFiles
      .flatMap((path) => Shipped.readYaml<RuleTests>(path).tests)
      .flatMap((test) => test.alert_rule_test)
      .flatMap(({ alertname, exp_alerts = [] }) => (exp_alerts.length > 0 ? [alertname] : []))
    const alerts = Shipped.rules.flatMap(({ alert }) => alert ?? [])
    assert.deepStrictEqual([...new Set(fired)].toSorted(), alerts.toSorted())
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
