import { readdirSync, readFileSync, statSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { Yaml } from "effect/encoding"

export const directory = fileURLToPath(new URL("../../otel/", import.meta.url))

export const read = (path: string): string => readFileSync(directory + path, "utf8")

/** The content of a file of ours, as its reader declares it: each test that reads a field fails when it is not so. */
export const readYaml = <A>(path: string): A => Yaml.parse(read(path)) as A

export const dashboardFiles = readdirSync(`${directory}grafana/dashboards`).toSorted()

export interface Rule {
  readonly record?: string
  readonly alert?: string
  readonly expr: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}

/** A file of rules, as Prometheus reads it. */
export interface Rules {
  readonly groups: ReadonlyArray<{ readonly rules: ReadonlyArray<Rule> }>
}

export const rulesIn = ({ groups }: Rules): ReadonlyArray<Rule> => groups.flatMap(({ rules }) => rules)

export const rules = rulesIn(readYaml<Rules>("prometheus/rules.yml"))

interface Target {
  readonly expr?: string
}

export interface Panel {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly datasource?: { readonly uid: string }
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly targets?: ReadonlyArray<Target>
}

export interface Dashboard {
  readonly uid: string
  readonly title: string
  readonly schemaVersion: number
  readonly templating: {
    readonly list: ReadonlyArray<{ readonly name: string; readonly type: string; readonly query: unknown }>
  }
  readonly annotations: { readonly list: ReadonlyArray<{ readonly name: string; readonly expr?: string }> }
  readonly panels: ReadonlyArray<Panel>
}

export const dashboards: ReadonlyArray<Dashboard> = dashboardFiles.map((file) =>
  JSON.parse(read(`grafana/dashboards/${file}`))
)

/** Grafana's variables replaced by what Prometheus reads. */
const plain = (expr: string): string =>
  expr.replaceAll("$__rate_interval", "5m").replaceAll(/\$(?:provider|job|instance)\b/g, ".*")

/** Every PromQL expression that is shipped, with where it stands. */
export const expressions: ReadonlyArray<{ readonly where: string; readonly expr: string }> = [
  ...rules.map(({ alert, expr, record }) => ({ where: `rule ${alert ?? record}`, expr })),
  ...dashboards.flatMap(({ panels, title }) =>
    panels.flatMap((panel) =>
      (panel.targets ?? []).flatMap(({ expr }) =>
        expr === undefined ? [] : [{ where: `${title}, ${panel.title}`, expr: plain(expr) }]
      )
    )
  )
]

/** Throws when there is nothing. */
export const stat = (path: string): unknown => statSync(directory + path)
