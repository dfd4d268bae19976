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
  type Dashboard,
  DashboardBuilder,
  DashboardLinkBuilder,
  DashboardLinkType,
  RowBuilder,
  type Panel as StoredPanel,
  type VariableModel
} from "@grafana/grafana-foundation-sdk/dashboard"
import { DataqueryBuilder } from "@grafana/grafana-foundation-sdk/prometheus"
import * as stateTimeline from "@grafana/grafana-foundation-sdk/statetimeline"
import * as timeseries from "@grafana/grafana-foundation-sdk/timeseries"

/** A line of a panel: what is asked of Prometheus, and what it is called. */
export interface Line {
  readonly expr: string
  readonly legend: string
}

export interface Panel {
  readonly title: string
  /** What the panel answers, shown behind its (i). */
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

export const prometheus = { type: "prometheus", uid: "prometheus" }
export const jaeger = { type: "jaeger", uid: "jaeger" }

const columns = 24
const panelHeight = 8

/** A query in the terms of a datasource that Grafana's builders have none for. */
export const query = (fields: object): Builder<Dataquery> => ({
  // Their type asks for a method that marks queries and is never called.
  build: () => fields as Dataquery
})

const lineBuilder = ({ expr, legend }: Line, index: number) =>
  new DataqueryBuilder()
    .refId(String.fromCharCode("A".charCodeAt(0) + index))
    .datasource(prometheus)
    .expr(expr)
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

/** The dashboard as Grafana stores it, in the terms of its own schema. */
export const toGrafana = ({ above = [], description, rows, title, uid, variables = [] }: Board): Dashboard => {
  const board = new DashboardBuilder(title)
    .uid(uid)
    .description(description)
    .tags(["quarry"])
    .version(1)
    .refresh("30s")
    .time({ from: "now-3h", to: "now" })
    .variables([...variables])
    .annotations([])
    .link(new DashboardLinkBuilder("Quarry").type(DashboardLinkType.Dashboards).tags(["quarry"]).keepTime(true))
  for (const panel of above) board.withPanel(panel)
  for (const row of rows) {
    board.withRow(new RowBuilder(row.title))
    for (const panel of row.panels) board.withPanel(panelBuilder(panel, Math.floor(columns / row.panels.length)))
  }
  const stored = board.build()
  return { ...stored, panels: (stored.panels ?? []).map((panel, index) => ({ ...panel, id: index + 1 })) }
}
