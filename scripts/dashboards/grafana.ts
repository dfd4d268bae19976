import type { Builder, Dataquery } from "@grafana/grafana-foundation-sdk/cog"
import {
  LegendDisplayMode,
  LegendPlacement,
  SortOrder,
  TooltipDisplayMode,
  VisibilityMode,
  VizLegendOptionsBuilder,
  VizTooltipOptionsBuilder
} from "@grafana/grafana-foundation-sdk/common"
import {
  AnnotationQueryBuilder,
  type Dashboard,
  DashboardBuilder,
  DashboardLinkBuilder,
  DashboardLinkType,
  DatasourceVariableBuilder,
  QueryVariableBuilder,
  RowBuilder,
  type Panel as StoredPanel,
  type VariableModel,
  VariableRefresh
} from "@grafana/grafana-foundation-sdk/dashboard"
import { DataqueryBuilder } from "@grafana/grafana-foundation-sdk/prometheus"
import * as stateTimeline from "@grafana/grafana-foundation-sdk/statetimeline"
import * as timeseries from "@grafana/grafana-foundation-sdk/timeseries"
import { isRecorded, withMatchers } from "../promql.ts"

/** A line of a panel: the Prometheus query and its legend. */
export interface Line {
  readonly expr: string
  readonly legend: string
}

export interface Panel {
  readonly title: string
  /** Description of the panel, shown at its (i). */
  readonly tells: string
  /** As Grafana names it. */
  readonly unit: string
  readonly kind: "timeseries" | "state-timeline"
  readonly lines: ReadonlyArray<Line>
}

/** Panels side by side, under a heading. */
export interface Row {
  readonly title: string
  readonly panels: ReadonlyArray<Panel>
}

export interface Board {
  readonly uid: string
  readonly title: string
  readonly description: string
  readonly rows: ReadonlyArray<Row>
  /** Stand above the rows, each as wide as the board. */
  readonly above?: ReadonlyArray<Builder<StoredPanel>>
  readonly variables?: ReadonlyArray<Builder<VariableModel>>
}

/** The datasources that the reader chooses at the top of a dashboard. */
export const prometheus = { type: "prometheus", uid: "$datasource" }
export const jaeger = { type: "jaeger", uid: "$traces" }

/** The deployment and the replicas that the reader chooses. Recorded series are about a deployment as a whole. */
const chosen = (expr: string): string =>
  withMatchers(expr, (metric) => (isRecorded(metric) ? 'job=~"$job"' : 'job=~"$job",instance=~"$instance"'))

const labelVariable = (name: string, label: string, values: string) =>
  new QueryVariableBuilder(name)
    .label(label)
    .datasource(prometheus)
    .query({ query: values, refId: name })
    .refresh(VariableRefresh.OnTimeRangeChanged)
    .includeAll(true)
    .multi(true)
    .current({ text: "All", value: "$__all" })

/** A variable with the values of a label in the chosen deployment. */
export const valuesOf = (name: string, label: string, metric: string) =>
  labelVariable(name, label, `label_values(${metric}{job=~"$job"}, ${name})`)

const commonVariables = [
  new DatasourceVariableBuilder("datasource").label("Prometheus").type("prometheus"),
  labelVariable("job", "Deployment", "label_values(quarry_build_info, job)"),
  valuesOf("instance", "Replica", "quarry_build_info")
]

/** Marks in every panel when a replica starts with a version or commit that no replica had five minutes before. */
const deployments = new AnnotationQueryBuilder()
  .name("Deployments")
  .datasource(prometheus)
  .enable(true)
  .iconColor("blue")
  .expr(
    withMatchers(
      "count by (version, commit) (quarry_build_info) unless count by (version, commit) (quarry_build_info offset 5m)",
      () => 'job=~"$job"'
    )
  )
  .titleFormat("{{version}} {{commit}}")

const columns = 24
const panelHeight = 8

/** A query in the terms of a datasource that Grafana's builders have none for. */
export const query = (fields: object): Builder<Dataquery> => ({
  // Their type requires a method that marks queries, which is never called.
  build: () => fields as Dataquery
})

const lineBuilder = ({ expr, legend }: Line, index: number) =>
  new DataqueryBuilder()
    .refId(String.fromCharCode("A".charCodeAt(0) + index))
    .datasource(prometheus)
    .expr(chosen(expr))
    .legendFormat(legend)

const builderOf = (kind: Panel["kind"]) =>
  kind === "state-timeline"
    ? new stateTimeline.PanelBuilder()
    : new timeseries.PanelBuilder()
        .fillOpacity(10)
        .showPoints(VisibilityMode.Never)
        .legend(
          new VizLegendOptionsBuilder()
            .displayMode(LegendDisplayMode.List)
            .placement(LegendPlacement.Bottom)
            .showLegend(true)
        )
        .tooltip(new VizTooltipOptionsBuilder().mode(TooltipDisplayMode.Multi).sort(SortOrder.Descending))

const panelBuilder = ({ kind, lines, tells, title, unit }: Panel, width: number): Builder<StoredPanel> =>
  builderOf(kind)
    .title(title)
    .description(tells)
    .datasource(prometheus)
    .unit(unit)
    .min(0)
    .span(width)
    .height(panelHeight)
    .targets(lines.map(lineBuilder))

/** Converts a dashboard to Grafana's JSON schema. */
export const toGrafana = ({ above = [], description, rows, title, uid, variables = [] }: Board): Dashboard => {
  const board = new DashboardBuilder(title)
    .uid(uid)
    .description(description)
    .tags(["quarry"])
    .version(1)
    .refresh("30s")
    .time({ from: "now-3h", to: "now" })
    .variables([...commonVariables, ...variables])
    .annotations([deployments])
    .link(new DashboardLinkBuilder("Quarry").type(DashboardLinkType.Dashboards).tags(["quarry"]).keepTime(true))
  for (const panel of above) board.withPanel(panel)
  for (const row of rows) {
    board.withRow(new RowBuilder(row.title))
    for (const panel of row.panels) board.withPanel(panelBuilder(panel, Math.floor(columns / row.panels.length)))
  }
  const stored = board.build()
  return { ...stored, panels: (stored.panels ?? []).map((panel, index) => ({ ...panel, id: index + 1 })) }
}
