import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { promtool } from "../support/OperatorTool.ts"
import * as Shipped from "./Shipped.ts"

promtool.describe("Prometheus's own tool", () => {
  it("takes the configuration and the rules", () => {
    assert.strictEqual(promtool.complaints(["check", "config", `${Shipped.directory}prometheus/prometheus.yml`]), "")
    assert.strictEqual(promtool.complaints(["check", "rules", `${Shipped.directory}prometheus/rules.yml`]), "")
  })

  it("sees the alerts fire when they should and be silent when they should", () => {
    assert.strictEqual(promtool.complaints(["test", "rules", `${Shipped.directory}prometheus/rules.test.yml`]), "")
  })

  it("can read every expression of the dashboards", () => {
    const directory = mkdtempSync(join(tmpdir(), "quarry-promql-"))
    try {
      const rules = Shipped.expressions.map(({ expr }, index) => ({ record: `expression:${index}`, expr }))
      // JSON is YAML.
      writeFileSync(join(directory, "rules.yml"), JSON.stringify({ groups: [{ name: "dashboards", rules }] }))
      assert.strictEqual(promtool.complaints(["check", "rules", join(directory, "rules.yml")]), "")
    } finally {
      rmSync(directory, { recursive: true })
    }
  })
})
