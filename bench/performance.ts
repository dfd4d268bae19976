import { readFileSync, writeFileSync } from "node:fs"
import type { Measurement, Result } from "./support/Measurement.ts"
import { type Bar, cpuBars, cpuPanel, draw, type Panel } from "./support/Plot.ts"
import type { Report as Tail } from "./tail.ts"

/*
 * Draws docs/images/performance.svg from the raw figures of docs/performance.md in results/performance/, which
 * `npm run bench -- --json FILE` and `bench/tail.ts --json FILE` wrote.
 */

const read = (name: string): string =>
  readFileSync(new URL(`results/performance/${name}.json`, import.meta.url), "utf8")

// The casts hold because the benchmark wrote the files.
const resultsOf = (name: string) => (JSON.parse(read(name)) as { readonly results: ReadonlyArray<Result> }).results
const tailOf = (name: string) => JSON.parse(read(name)) as Tail

/** The parts of bench/tail.ts, put together. */
const waits: ReadonlyArray<readonly [name: string, belongs: (part: string) => boolean]> = [
  ["listener, key", (part) => part === "until the edge" || part === "edge and key"],
  ["rate limit (Redis)", (part) => part === "rate limit" || part === "until the reservation"],
  ["reserve (Postgres)", (part) => part.startsWith("reserve")],
  ["cache, provider", (part) => part.startsWith("cache") || part === "provider" || part.startsWith("ranking")],
  ["settle (Postgres)", (part) => part.startsWith("settle")],
  ["response", (part) => part === "response" || part === "until the client"]
]

const tailBar = (label: string, { latencyMs, parts }: Tail["usual"]): Bar => ({
  label,
  lengths: waits.map(([, belongs]) =>
    Object.entries(parts).reduce((sum, [part, ms]) => sum + (belongs(part) ? ms : 0), 0)
  ),
  note: `${latencyMs.toFixed(0)} ms`
})

const tailPanel = (before: Tail, after: Tail): Panel => ({
  heading: "Where a search spends its time at 64 connections, in milliseconds",
  parts: waits.map(([name]) => name),
  groups: [
    {
      title: "four helper threads (Node's default)",
      bars: [tailBar("median searches", before.usual), tailBar("slowest 100", before.slowest)]
    },
    {
      title: "one helper thread",
      bars: [tailBar("median searches", after.usual), tailBar("slowest 100", after.slowest)]
    }
  ]
})

const variantsOf = ({ measurements }: Result): ReadonlyArray<string> => [
  ...new Set(measurements.map(({ variant }: Measurement) => variant))
]

/** One bar for each variant of a scenario that measures only Quarry. */
const variantBars = (results: ReadonlyArray<Result>): ReadonlyArray<Bar> =>
  results.flatMap((result) =>
    variantsOf(result).flatMap((variant) =>
      cpuBars(results, result.scenario, variant).map((bar) => ({ ...bar, label: variant === "" ? bar.label : variant }))
    )
  )

const panels = [
  cpuPanel("CPU time of a search, in milliseconds, by process", [
    { title: "64 connections, 1,000 accounts", bars: cpuBars(resultsOf("single"), "single", "") },
    {
      title: "processes of one service",
      bars: [...variantBars(resultsOf("workers")), ...variantBars(resultsOf("workers-8"))]
    },
    { title: "connections", bars: variantBars(resultsOf("idle")) }
  ]),
  tailPanel(tailOf("tail-before"), tailOf("tail-after"))
]

writeFileSync(new URL("../docs/images/performance.svg", import.meta.url), draw("The cost and time of a search", panels))
