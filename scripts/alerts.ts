import { writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { stringify } from "yaml"
import { type Alert, burn, causes, objectives, type Recording } from "./alerts/rules.ts"
import { equalLabels, isRecorded, withMatchers } from "./promql.ts"

const usage = `npm run -s alerts -- [--selector MATCHERS]    prints Prometheus rules for one deployment of Quarry
npm run alerts -- --write                     updates otel/prometheus/rules.yml and the PrometheusRule in
                                              deploy/kubernetes/monitoring, which have the default selector

--selector takes PromQL label matchers that select the deployment's series, such as 'job="search",namespace="prod"'.
The default is 'job="quarry"'.`

export const defaultSelector = 'job="quarry"'

const header = (selector: string) => `# Recording and alerting rules for the series with {${selector}}.
# Generated from scripts/alerts by \`npm run alerts\`, which takes another --selector. RUNBOOK.md has an entry for each alert.
# Objectives over 30 days: 99.5 % of requests, rows and tool calls do not fail through our fault or a provider's, and
# 95 % of answered single searches take at most 2.5 s.
`

/**
 * Returns the groups of rules about the series that `selector` selects. Recorded series and alerts get its
 * `label="value"` matchers as labels, so that two deployments in one Prometheus stay apart.
 */
const groupsOf = (selector: string) => {
  const labels = equalLabels(selector)
  const ownLabels = Object.entries(labels).map(([name, value]) => `${name}=${JSON.stringify(value)}`)
  const scoped = (expr: string) =>
    withMatchers(expr.trim(), (metric) => (isRecorded(metric) ? ownLabels.join(",") : selector))
  const recording = ({ expr, record }: Recording) => ({ record, expr: scoped(expr), labels })
  const alerting = ({ alert, expr, for: since, severity, summary }: Alert) => ({
    alert,
    expr: scoped(expr),
    for: since,
    labels: { severity, ...labels },
    annotations: { summary, runbook: `otel/RUNBOOK.md#${alert.toLowerCase()}` }
  })
  return [
    { name: "quarry-objectives", rules: objectives.map(recording) },
    { name: "quarry-burn", rules: burn.map(alerting) },
    { name: "quarry-causes", rules: causes.map(alerting) }
  ]
}

const toYaml = (document: object): string => stringify(document, { lineWidth: 0, aliasDuplicateObjects: false })

/** The rules as a file for Prometheus. */
export const rulesFile = (selector: string = defaultSelector): string =>
  header(selector) + toYaml({ groups: groupsOf(selector) })

/** The same rules as a resource for the Prometheus Operator. */
export const prometheusRule = (selector: string = defaultSelector): string =>
  header(selector) +
  toYaml({
    apiVersion: "monitoring.coreos.com/v1",
    kind: "PrometheusRule",
    metadata: { name: "quarry", labels: { "app.kubernetes.io/name": "quarry" } },
    spec: { groups: groupsOf(selector) }
  })

/** The checked-in files. */
export const outputs = [
  { path: "otel/prometheus/rules.yml", text: rulesFile },
  { path: "deploy/kubernetes/monitoring/rules.yaml", text: prometheusRule }
]

if (import.meta.main) {
  const { values } = parseArgs({
    options: { selector: { type: "string" }, write: { type: "boolean" }, help: { type: "boolean" } }
  })
  if (values.help) console.log(usage)
  else if (values.write) {
    for (const { path, text } of outputs) writeFileSync(fileURLToPath(new URL(`../${path}`, import.meta.url)), text())
  } else {
    try {
      process.stdout.write(rulesFile(values.selector))
    } catch (error) {
      console.error(`--selector does not take ${values.selector}: ${error instanceof Error ? error.message : error}`)
      process.exitCode = 2
    }
  }
}
