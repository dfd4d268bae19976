import { type Measurement, median, type Result, runsOf } from "./Measurement.ts"

/** The bars to draw: a scenario, and its variant if it has several. */
const groups = [
  ["single", "", "search"],
  ["hot", "", "search, one account"],
  ["cached", "", "cache hit"],
  ["bulk", "50 rows", "row of a 50-row batch"],
  ["refusals", "401", "refused: 401"],
  ["refusals", "402", "refused: 402"],
  ["refusals", "429", "refused: 429"]
] as const

const cpuParts = ["service", "postgres", "redis"] as const

export interface Bar {
  readonly label: string
  /** In the order of the panel's parts. */
  readonly lengths: ReadonlyArray<number>
  readonly note: string
}

/** Stacked horizontal bars of one scale. */
export interface Panel {
  readonly heading: string
  readonly parts: ReadonlyArray<string>
  readonly groups: ReadonlyArray<{ readonly title: string; readonly bars: ReadonlyArray<Bar> }>
}

const cpuBar = (label: string, runs: ReadonlyArray<Measurement>): Bar => {
  const lengths = cpuParts.map((part) => median(runs.map(({ cpu }) => cpu[part] ?? 0)))
  const total = lengths.reduce((sum, length) => sum + length, 0)
  const perSecond = Math.round(median(runs.map((run) => run.perSecond))).toLocaleString("en")
  return { label, lengths, note: `${total.toFixed(2)} ms, ${perSecond} a second` }
}

/** One bar for each subject of a scenario's variant. */
export const cpuBars = (results: ReadonlyArray<Result>, scenario: string, variant: string): ReadonlyArray<Bar> => {
  const measurements = results.find((result) => result.scenario === scenario)?.measurements ?? []
  const subjects = [...new Set(measurements.filter((it) => it.variant === variant).map(({ subject }) => subject))]
  return subjects.map((subject) => cpuBar(subject, runsOf(measurements, subject, variant)))
}

export const cpuPanel = (heading: string, groups: Panel["groups"]): Panel => ({
  heading,
  parts: ["Node", "Postgres", "Redis"],
  groups: groups.filter(({ bars }) => bars.length > 0)
})

const left = 210
const width = 860
const barHeight = 16
const step = 20
const room = width - left - 190
const legendStep = 130
const legendsPerLine = Math.floor((width - 32) / legendStep)

/** Readable on both backgrounds. */
const colours = ["#3f7fbf", "#8f6fc0", "#d98b4a", "#4f9d69", "#c25b6e", "#8a8f98"]
const colourOf = (index: number): string => colours[index % colours.length] ?? ""

const style = `<style>
rect.page { fill: #ffffff } text { fill: #1f2328 }
@media (prefers-color-scheme: dark) { rect.page { fill: #0d1117 } text { fill: #e6edf3 } }
</style>`

const text = (x: number, y: number, content: string, more = ""): string =>
  `<text x="${x.toFixed(1)}" y="${y}"${more}>${content}</text>`

const drawBar = ({ label, lengths, note }: Bar, y: number, scale: number): string => {
  let x = left
  const pieces = lengths.map((value, index) => {
    const length = value * scale
    const piece = `<rect x="${x.toFixed(1)}" y="${y}" width="${length.toFixed(1)}" height="${barHeight}" fill="${colourOf(index)}"/>`
    x += length
    return piece
  })
  return [text(left - 8, y + 12, label, ' text-anchor="end"'), ...pieces, text(x + 6, y + 12, note)].join("\n")
}

/** Returns the lines of a panel that starts at `top`, and where it ends. */
const drawPanel = ({ groups, heading, parts }: Panel, top: number) => {
  const totals = groups.flatMap(({ bars }) => bars.map(({ lengths }) => lengths.reduce((sum, one) => sum + one, 0)))
  const scale = room / Math.max(...totals)
  const legend = parts.map((name, index) => {
    const x = 16 + (index % legendsPerLine) * legendStep
    const y = top + 30 + Math.floor(index / legendsPerLine) * step
    return `<rect x="${x}" y="${y}" width="12" height="12" fill="${colourOf(index)}"/>${text(x + 18, y + 11, name)}`
  })
  let y = top + 44 + Math.ceil(parts.length / legendsPerLine) * step
  const body = groups.flatMap(({ bars, title }) => {
    const lines = title === "" ? [] : [text(16, y, title, ' font-weight="bold"')]
    y += 8
    for (const bar of bars) {
      lines.push(drawBar(bar, y, scale))
      y += step
    }
    y += 24
    return lines
  })
  return { lines: [text(16, top + 20, heading, ' font-size="14"'), ...legend, ...body], bottom: y }
}

/** Draws panels below each other as an SVG, for light and dark pages. */
export const draw = (title: string, panels: ReadonlyArray<Panel>): string => {
  let height = 0
  const lines = panels.flatMap((panel) => {
    const drawn = drawPanel(panel, height)
    height = drawn.bottom
    return drawn.lines
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" font-family="sans-serif" font-size="12" role="img">`,
    `<title>${title}</title>`,
    style,
    `<rect class="page" width="${width}" height="${height}"/>`,
    ...lines,
    "</svg>",
    ""
  ].join("\n")
}

const heading = "CPU time for each, in milliseconds, by process"

/** Draws the CPU time by process as an SVG. */
export const plot = (results: ReadonlyArray<Result>): string =>
  draw(heading, [
    cpuPanel(
      heading,
      groups.map(([scenario, variant, title]) => ({ title, bars: cpuBars(results, scenario, variant) }))
    )
  ])
