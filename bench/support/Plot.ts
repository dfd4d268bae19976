import { median, type Result, runsOf } from "./Measurement.ts"

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

const parts = [
  ["service", "Node", "#2f6f9f"],
  ["postgres", "Postgres", "#8fb8d8"],
  ["redis", "Redis", "#d98b4a"]
] as const

interface Bar {
  readonly label: string
  readonly cpuMs: Readonly<Record<(typeof parts)[number][0], number>>
  readonly perSecond: number
}

const barsOf = (results: ReadonlyArray<Result>, scenario: string, variant: string): ReadonlyArray<Bar> => {
  const measurements = results.find((result) => result.scenario === scenario)?.measurements ?? []
  const subjects = [...new Set(measurements.filter((it) => it.variant === variant).map(({ subject }) => subject))]
  return subjects.map((subject) => {
    const runs = runsOf(measurements, subject, variant)
    const cpu = (part: keyof Bar["cpuMs"]) => median(runs.map((run) => run.cpu[part] ?? 0))
    return {
      label: subject,
      cpuMs: { service: cpu("service"), postgres: cpu("postgres"), redis: cpu("redis") },
      perSecond: median(runs.map((run) => run.perSecond))
    }
  })
}

const left = 210
const width = 860
const barHeight = 16
const step = 20
const room = width - left - 190

const text = (x: number, y: number, content: string, more = ""): string =>
  `<text x="${x.toFixed(1)}" y="${y}"${more}>${content}</text>`

const drawBar = ({ cpuMs, label, perSecond }: Bar, y: number, scale: number): string => {
  let x = left
  const pieces = parts.map(([part, , colour]) => {
    const length = cpuMs[part] * scale
    const piece = `<rect x="${x.toFixed(1)}" y="${y}" width="${length.toFixed(1)}" height="${barHeight}" fill="${colour}"/>`
    x += length
    return piece
  })
  const total = cpuMs.service + cpuMs.postgres + cpuMs.redis
  const figures = `${total.toFixed(2)} ms, ${Math.round(perSecond).toLocaleString("en")} a second`
  return [text(left - 8, y + 12, label, ' text-anchor="end"'), ...pieces, text(x + 6, y + 12, figures)].join("\n")
}

const heading = "CPU time for each, in milliseconds, by process"

/** Draws the CPU time by process as an SVG. */
export const plot = (results: ReadonlyArray<Result>): string => {
  const drawn = groups
    .map(([scenario, variant, title]) => ({ title, bars: barsOf(results, scenario, variant) }))
    .filter(({ bars }) => bars.length > 0)
  const totals = drawn.flatMap(({ bars }) => bars.map(({ cpuMs }) => cpuMs.service + cpuMs.postgres + cpuMs.redis))
  const scale = room / Math.max(...totals)
  let y = 64
  const body = drawn.flatMap(({ bars, title }) => {
    const lines = [text(16, y, title, ' font-weight="bold"')]
    y += 8
    for (const bar of bars) {
      lines.push(drawBar(bar, y, scale))
      y += step
    }
    y += 24
    return lines
  })
  const legend = parts.map(([, name, colour], index) => {
    const x = left + index * 110
    return `<rect x="${x}" y="30" width="12" height="12" fill="${colour}"/>${text(x + 18, 41, name)}`
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${y}" font-family="sans-serif" font-size="12" role="img">`,
    `<title>${heading}</title>`,
    `<rect width="${width}" height="${y}" fill="white"/>`,
    text(16, 20, heading, ' font-size="14"'),
    ...legend,
    ...body,
    "</svg>",
    ""
  ].join("\n")
}
