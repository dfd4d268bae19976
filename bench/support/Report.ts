import { type Figure, type Measurement, median, type Result, ratios, runsOf } from "./Measurement.ts"

const number = (value: number, digits = 2): string => {
  if (Number.isNaN(value)) return "–"
  return value >= 1000 ? Math.round(value).toLocaleString("en") : value.toFixed(value >= 100 ? 0 : digits)
}

/** Summarizes the responses by status and error, with counts if they differ. */
const answered = (runs: ReadonlyArray<Measurement>): string => {
  const counts = new Map<string, number>()
  for (const { errors, statuses } of runs) {
    for (const [status, count] of Object.entries(statuses)) counts.set(status, (counts.get(status) ?? 0) + count)
    if (errors > 0) counts.set("no answer", (counts.get("no answer") ?? 0) + errors)
  }
  return [...counts].map(([status, count]) => (counts.size === 1 ? status : `${status}: ${count}`)).join(", ")
}

const columns: ReadonlyArray<
  readonly [name: string, figure: (run: Measurement) => number | undefined, digits: number]
> = [
  ["rps", ({ perSecond }) => perSecond, 0],
  ["p50 ms", ({ latencyMs }) => latencyMs.p50, 2],
  ["p95", ({ latencyMs }) => latencyMs.p95, 2],
  ["p99", ({ latencyMs }) => latencyMs.p99, 2],
  ["p99.9", ({ latencyMs }) => latencyMs.p999, 2],
  ["CPU ms", ({ cpu }) => cpu.total, 3],
  ["service", ({ cpu }) => cpu.service, 3],
  ["Postgres", ({ cpu }) => cpu.postgres, 3],
  ["Redis", ({ cpu }) => cpu.redis, 3]
]

const head = [
  ["", ...columns.map(([name]) => name), "Quarry × rps", "× CPU", "answers"],
  ["---", ...columns.map(() => "---:"), "---:", "---:", "---"]
]

/** Medians over the runs of a subject, and beside a baseline or the floor Quarry's share of its figures, pair by pair. */
const row = (all: ReadonlyArray<Measurement>, subject: string, variant: string): ReadonlyArray<string> => {
  const runs = runsOf(all, subject, variant)
  const share = (figure: (run: Measurement) => number) =>
    subject.startsWith("baseline") || subject === "floor"
      ? number(median(ratios(all, variant, ["quarry", subject], figure)))
      : ""
  return [
    [variant, subject].filter((text) => text !== "").join(": "),
    ...columns.map(([, figure, digits]) => number(median(runs.map((run) => figure(run) ?? Number.NaN)), digits)),
    share(({ perSecond }) => perSecond),
    share(({ cpu }) => cpu.total),
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

/** Formats the result of a scenario as Markdown. */
export const table = ({ figures, measurements, measures, scenario }: Result): string => {
  const variants = unique(measurements.map(({ variant }) => variant))
  const rows = variants.flatMap((variant) =>
    unique(measurements.filter((it) => it.variant === variant).map(({ subject }) => subject)).map((subject) =>
      row(measurements, subject, variant)
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

/** Formats all results as one page. */
export const page = (report: {
  readonly machine: Readonly<Record<string, string | number>>
  readonly scale: { readonly pairs: number; readonly seconds: number; readonly accounts: number }
  readonly results: ReadonlyArray<Result>
}): string => {
  const { cores, cpu, loadAfter, loadBefore, memoryGb, node, redis, stores, system } = report.machine
  const { accounts, pairs, seconds } = report.scale
  return [
    "# Results",
    "",
    `Written by \`npm run bench\`. ${cores} cores (${cpu}), ${memoryGb} GB, ${system}, shared by everything that is`,
    `measured, the stub and the load. Node ${node}; ${redis}; ${stores}. ${pairs} runs of ${seconds} s`,
    `for each subject, ${accounts} accounts; the figures are medians. "Quarry × rps" and "× CPU" are Quarry's share of`,
    `the figures in that row. The machine's load average was ${loadBefore} before and ${loadAfter} after: above the number`,
    "of cores before, it had other work, latencies and searches a second say little, and the shares of CPU time something.",
    "",
    ...report.results.map(table)
  ].join("\n")
}
