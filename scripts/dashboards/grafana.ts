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
  readonly kind: "timeseries" | "stat" | "state-timeline"
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
  /** Stands above the rows, as Grafana takes it; `gridPos` included. */
  readonly above?: { readonly height: number; readonly panels: ReadonlyArray<object> }
  readonly variables?: ReadonlyArray<object>
}

export const prometheus = { type: "prometheus", uid: "prometheus" }
export const jaeger = { type: "jaeger", uid: "jaeger" }

const columns = 24
const headingHeight = 1
const panelHeight = 8

const toPanel = ({ kind, lines, tells, title, unit }: Panel, place: object) => ({
  type: kind,
  title,
  description: tells,
  datasource: prometheus,
  gridPos: place,
  fieldConfig: {
    defaults: { unit, min: 0, custom: kind === "timeseries" ? { fillOpacity: 10, showPoints: "never" } : {} },
    overrides: []
  },
  options:
    kind === "timeseries"
      ? { legend: { displayMode: "list", placement: "bottom" }, tooltip: { mode: "multi", sort: "desc" } }
      : {},
  targets: lines.map(({ expr, legend }, index) => ({
    refId: String.fromCharCode("A".charCodeAt(0) + index),
    datasource: prometheus,
    expr,
    legendFormat: legend
  }))
})

const toRow = ({ panels, title }: Row, y: number) => {
  const width = Math.floor(columns / panels.length)
  return [
    { type: "row", title, collapsed: false, gridPos: { x: 0, y, w: columns, h: headingHeight }, panels: [] },
    ...panels.map((panel, index) =>
      toPanel(panel, { x: index * width, y: y + headingHeight, w: width, h: panelHeight })
    )
  ]
}

/** The dashboard as Grafana stores it. */
export const toGrafana = ({ above, description, rows, title, uid, variables = [] }: Board) => ({
  uid,
  title,
  description,
  tags: ["quarry"],
  schemaVersion: 39,
  version: 1,
  editable: true,
  refresh: "30s",
  time: { from: "now-3h", to: "now" },
  templating: { list: variables },
  annotations: { list: [] },
  links: [
    { type: "dashboards", title: "Quarry", tags: ["quarry"], asDropdown: false, keepTime: true, includeVars: false }
  ],
  panels: [
    ...(above?.panels ?? []),
    ...rows.flatMap((row, index) => toRow(row, (above?.height ?? 0) + index * (headingHeight + panelHeight)))
  ].map((panel, index) => ({ id: index + 1, ...panel }))
})
