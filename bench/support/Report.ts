import { type Figure, type Measurement, median, type Result, ratios, runsOf } from "./Measurement.ts"

const number = (value: number | undefined, digits = 2): string => {
  if (value === undefined || Number.isNaN(value)) return "–"
  return value >= 1000 ? Math.round(value).toLocaleString("en") : value.toFixed(value >= 100 ? 0 : digits)
}

/** Every status but the wanted one is worth a word. */
const answered = (runs: ReadonlyArray<Measurement>): string => {
  const counts = new Map<string, number>()
  for (const { errors, statuses } of runs) {
    for (const [status, count] of Object.entries(statuses)) counts.set(status, (counts.get(status) ?? 0) + count)
    if (errors > 0) counts.set("no answer", (counts.get("no answer") ?? 0) + errors)
  }
  return [...counts].map(([status, count]) => (counts.size === 1 ? status : `${status}: ${count}`)).join(", ")
}

const head = [
  [
    "",
    "rps",
    "p50 ms",
    "p95",
    "p99",
    "p99.9",
    "CPU ms",
    "service",
    "Postgres",
    "Redis",
    "Quarry × rps",
    "× CPU",
    "answers"
  ],
  ["---", ...Array.from({ length: 11 }, () => "---:"), "---"]
]

/** Medians over the runs; ratios against the subject named last, pair by pair, and the median of those. */
const row = (
  all: ReadonlyArray<Measurement>,
  subject: string,
  variant: string,
  compared: string | undefined
): ReadonlyArray<string> => {
  const runs = runsOf(all, subject, variant)
  const middle = (figure: (measurement: Measurement) => number | undefined) =>
    median(runs.map((run) => figure(run) ?? Number.NaN))
  const ratio = (figure: (measurement: Measurement) => number) =>
    compared === undefined || compared === subject
      ? ""
      : number(median(ratios(all, variant, [compared, subject], figure)))
  return [
    [variant, subject].filter((text) => text !== "").join(": "),
    number(
      middle(({ perSecond }) => perSecond),
      0
    ),
    number(middle(({ latencyMs }) => latencyMs.p50)),
    number(middle(({ latencyMs }) => latencyMs.p95)),
    number(middle(({ latencyMs }) => latencyMs.p99)),
    number(middle(({ latencyMs }) => latencyMs.p999)),
    number(
      middle(({ cpu }) => cpu.total),
      3
    ),
    number(
      middle(({ cpu }) => cpu.service),
      3
    ),
    number(
      middle(({ cpu }) => cpu.postgres),
      3
    ),
    number(
      middle(({ cpu }) => cpu.redis),
      3
    ),
    ratio(({ perSecond }) => perSecond),
    ratio(({ cpu }) => cpu.total),
    answered(runs)
  ]
}

const unique = (values: ReadonlyArray<string>): ReadonlyArray<string> => [...new Set(values)]

const markdown = (rows: ReadonlyArray<ReadonlyArray<string>>): string =>
  rows.map((cells) => `| ${cells.join(" | ")} |`).join("\n")

const verdict = ({ value, wanted }: Figure): string => {
  if (wanted?.atLeast !== undefined) return `at least ${wanted.atLeast}${value >= wanted.atLeast ? "" : ": missed"}`
  if (wanted?.atMost !== undefined) return `at most ${wanted.atMost}${value <= wanted.atMost ? "" : ": missed"}`
  return ""
}

/** What a scenario has found, as Markdown. "Quarry × rps" and "× CPU" are what Quarry has of that row's, pair by pair. */
export const table = ({ figures, measurements, measures, scenario }: Result): string => {
  const variants = unique(measurements.map(({ variant }) => variant))
  const compared = measurements.some(({ subject }) => subject === "quarry") ? "quarry" : undefined
  const rows = variants.flatMap((variant) =>
    unique(measurements.filter((it) => it.variant === variant).map(({ subject }) => subject)).map((subject) =>
      row(measurements, subject, variant, compared)
    )
  )
  const found = figures.map((figure) => [figure.name, `${number(figure.value)} ${figure.unit}`, verdict(figure)])
  return [
    `### ${scenario}: ${measures}`,
    "",
    ...(rows.length === 0 ? [] : [markdown([...head, ...rows]), ""]),
    ...(found.length === 0 ? [] : [markdown([["", "found", "wanted"], ["---", "---:", "---"], ...found]), ""])
  ].join("\n")
}

/** All of it as a page. */
export const page = (report: {
  readonly machine: Readonly<Record<string, string | number>>
  readonly scale: { readonly pairs: number; readonly seconds: number; readonly accounts: number }
  readonly results: ReadonlyArray<Result>
}): string => {
  const { cores, cpu, memoryGb, node, redis, stores, system } = report.machine
  const { accounts, pairs, seconds } = report.scale
  return [
    "# Results",
    "",
    `Written by \`npm run bench\`. ${cores} cores (${cpu}), ${memoryGb} GB, ${system}, shared by everything that is`,
    `measured, the stub and the load. Node ${node}; ${redis}; ${stores}. ${pairs} runs of ${seconds} s`,
    `for each subject, ${accounts} accounts; the figures are medians.`,
    "",
    ...report.results.map(table)
  ].join("\n")
}
