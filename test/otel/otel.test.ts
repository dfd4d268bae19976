import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { parse } from "yaml"
import { outputs, rulesFile } from "../../scripts/alerts.ts"
import { files } from "../../scripts/dashboards.ts"
import { withMatchers } from "../../scripts/promql.ts"
import { compose } from "../support/processes/OperatorTool.ts"
import * as Shipped from "./Shipped.ts"

/** The label matchers of each selector of an expression. */
const matchersIn = (expr: string): ReadonlyArray<string> =>
  withMatchers(expr, () => "mark")
    .split("{mark")
    .slice(1)
    .map((rest) => rest.slice(0, rest.indexOf("}")))

describe("the dashboards", () => {
  it("are those that `npm run dashboards` makes", () => {
    assert.deepStrictEqual(Shipped.dashboardFiles, Object.keys(files).toSorted())
    for (const [name, text] of Object.entries(files)) {
      assert.strictEqual(Shipped.read(`grafana/dashboards/${name}`), text, name)
    }
  })

  it("let the reader choose datasource, deployment and replica, and mark deployments", () => {
    for (const { annotations, templating, title } of Shipped.dashboards) {
      const names = templating.list.map(({ name }) => name)
      assert.deepStrictEqual(names.slice(0, 3), ["datasource", "job", "instance"], title)
      assert.deepStrictEqual(
        annotations.list.map(({ name }) => name),
        ["Deployments"],
        title
      )
    }
  })

  it("ask each metric for the chosen deployment alone", () => {
    for (const { panels, title } of Shipped.dashboards) {
      for (const { expr } of panels.flatMap(({ targets }) => targets ?? [])) {
        if (expr === undefined) continue
        const selectors = matchersIn(expr)
        assert.isNotEmpty(selectors)
        for (const matchers of selectors) assert.match(matchers, /^,job=~"\$job"/, `${title}: ${expr}`)
      }
    }
  })

  it("have no panel over another, none without a query, and only datasources that the reader chooses", () => {
    for (const { panels, templating, title } of Shipped.dashboards) {
      const provisioned = templating.list.flatMap(({ name, type }) => (type === "datasource" ? [`$${name}`] : []))
      const taken = new Set<string>()
      for (const { datasource, gridPos, targets, title: panel, type } of panels) {
        assert.isAtMost(gridPos.x + gridPos.w, 24, `${title}, ${panel}`)
        for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
          for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
            assert.isFalse(taken.has(`${x},${y}`), `${title}, ${panel} lies over another`)
            taken.add(`${x},${y}`)
          }
        }
        if (type === "row" || type === "text") continue
        assert.isNotEmpty(targets, `${title}, ${panel}`)
        assert.include(provisioned, datasource?.uid, `${title}, ${panel}`)
      }
    }
  })

  it("tell panels and dashboards apart by their ids", () => {
    const uids = Shipped.dashboards.map(({ uid }) => uid)
    assert.strictEqual(new Set(uids).size, uids.length)
    for (const { panels } of Shipped.dashboards) {
      assert.strictEqual(new Set(panels.map(({ id }) => id)).size, panels.length)
    }
  })
})

describe("the alerts", () => {
  it("are those that `npm run alerts` makes", () => {
    for (const { path, text } of outputs)
      assert.strictEqual(readFileSync(new URL(`../../${path}`, import.meta.url), "utf8"), text(), path)
  })

  it("read the series of their deployment alone, and carry its labels, under every selector", () => {
    const other = 'job="search",namespace="prod"'
    const others: Shipped.Rules = parse(rulesFile(other))
    for (const [rules, selector, labels] of [
      [Shipped.rules, 'job="quarry"', { job: "quarry" }],
      [Shipped.rulesIn(others), other, { job: "search", namespace: "prod" }]
    ] as const) {
      assert.isNotEmpty(rules)
      for (const { alert, expr, labels: found, record } of rules) {
        const name = alert ?? record ?? expr
        assert.deepInclude(found, labels, name)
        const selectors = matchersIn(expr)
        assert.isNotEmpty(selectors, name)
        for (const matchers of selectors) assert.isTrue(`${matchers},`.startsWith(`,${selector},`), `${name}: ${expr}`)
      }
    }
  })

  it("refuse a selector that is not PromQL, and take a metric without braces, with them, or with matchers", () => {
    assert.throws(() => rulesFile('job~"quarry"'), /not PromQL from here on/)
    assert.strictEqual(
      withMatchers('sum(rate(a[5m])) / a{} > b{c="d"}', (name) => `n="${name}"`),
      'sum(rate(a{n="a"}[5m])) / a{n="a"} > b{n="b",c="d"}'
    )
  })

  const alerts = Shipped.rules.flatMap((rule) => (rule.alert === undefined ? [] : [{ ...rule, alert: rule.alert }]))
  const headings = [...Shipped.read("RUNBOOK.md").matchAll(/^## (\w+)$/gm)].map(([, name]) => name)

  it("have an entry each in the runbook, which has no other", () => {
    assert.deepStrictEqual(headings.toSorted(), alerts.map(({ alert }) => alert).toSorted())
  })

  it("lead to their entry, and say whether they page", () => {
    for (const { alert, annotations, labels } of alerts) {
      assert.strictEqual(annotations?.runbook, `otel/RUNBOOK.md#${alert.toLowerCase()}`)
      assert.include(["page", "ticket"], labels?.severity)
    }
  })
})

interface Collector {
  readonly receivers: object
  readonly processors: {
    readonly tail_sampling: {
      readonly policies: ReadonlyArray<{ readonly name: string; readonly type: string } & Record<string, unknown>>
    }
  }
  readonly exporters: object
  readonly service: { readonly pipelines: Readonly<Record<string, Readonly<Record<string, ReadonlyArray<string>>>>> }
}

describe("the collector", () => {
  const collector = Shipped.readYaml<Collector>("collector.yml")
  const sections = ["receivers", "processors", "exporters"] as const

  it("has each part of its pipelines, and no part that is in none", () => {
    const pipelines = Object.values(collector.service.pipelines)
    for (const section of sections) {
      const used = new Set(pipelines.flatMap((pipeline) => pipeline[section] ?? []))
      assert.deepStrictEqual(Object.keys(collector[section]).toSorted(), [...used].toSorted(), section)
    }
  })

  it("samples by policies that have their own settings, a ratio last", () => {
    const { policies } = collector.processors.tail_sampling
    for (const policy of policies) assert.property(policy, policy.type, policy.name)
    assert.strictEqual(policies.at(-1)?.type, "probabilistic")
  })
})

interface Compose {
  readonly services: Readonly<
    Record<
      string,
      {
        readonly image: string
        readonly ports: ReadonlyArray<string>
        readonly volumes?: ReadonlyArray<string>
        readonly depends_on?: ReadonlyArray<string>
      }
    >
  >
}

describe("the compose file", () => {
  const { services } = Shipped.readYaml<Compose>("compose.yml")

  it("pins every image, opens ports to this machine only, and mounts what is there", () => {
    for (const { depends_on = [], image, ports, volumes = [] } of Object.values(services)) {
      assert.match(image, /:v?\d+\.\d+\.\d+$/)
      for (const port of ports) assert.match(port, /^127\.0\.0\.1:/)
      for (const volume of volumes.filter((it) => it.startsWith("./"))) {
        assert.doesNotThrow(() => Shipped.stat(volume.split(":")[0] ?? ""), volume)
      }
      for (const name of depends_on) assert.property(services, name)
    }
  })
})

compose.describe("Compose's own tool", () => {
  it("takes the file", () => {
    assert.strictEqual(compose.complaints(["-f", `${Shipped.directory}compose.yml`, "config", "--quiet"]), "")
  })
})
