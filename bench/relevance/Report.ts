import { type JudgedSet, kinds, sets } from "./Judgement.ts"
import { emptyPages, type Found, firstRight, type Scores, scores } from "./Score.ts"

/** An engine's results for the queries of each set, and its search times. */
export interface Run {
  readonly engine: string
  readonly found: Readonly<Partial<Record<JudgedSet, ReadonlyArray<Found>>>>
  readonly p50Ms: number
  readonly p95Ms: number
}

const percent = (share: number): string => (Number.isNaN(share) ? "–" : `${(share * 100).toFixed(0)} %`)
const fraction = (value: number): string => (Number.isNaN(value) ? "–" : value.toFixed(3))

const cells = ({ queries, successAt1, successAt3, successAt10, mrr, ndcg }: Scores): ReadonlyArray<string> => [
  `${queries}`,
  percent(successAt1),
  percent(successAt3),
  percent(successAt10),
  fraction(mrr),
  fraction(ndcg)
]

const columns = ["queries", "success@1", "success@3", "success@10", "MRR", "nDCG@10"]

const table = (head: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>): string =>
  [head, head.map((_, column) => (column === 0 ? "---" : "---:")), ...rows]
    .map((row) => `| ${row.join(" | ")} |`)
    .join("\n")

const titles: Readonly<Record<JudgedSet, string>> = {
  queries: "Queries that the ranking was made with",
  heldout: "Held-out queries"
}

const whole = (run: Run): ReadonlyArray<Found> => sets.flatMap((set) => run.found[set] ?? [])

const overall = (title: string, runs: ReadonlyArray<Run>, of: (run: Run) => ReadonlyArray<Found>): string => {
  const rows = runs.map((run) => [run.engine, ...cells(scores(of(run))), emptyPages(of(run)).join(" of ")])
  return `## ${title}\n\n${table(["", ...columns, "none"], rows)}\n`
}

const byKind = (runs: ReadonlyArray<Run>): string => {
  const rows = kinds
    .filter((kind) => kind !== "none")
    .flatMap((kind) =>
      runs.map((run) => [
        `${kind}: ${run.engine}`,
        ...cells(scores(whole(run).filter(({ judgement }) => judgement.kind === kind)))
      ])
    )
  return `## By kind, all queries\n\n${table(["", ...columns], rows)}\n`
}

/** Formats results as Markdown. `about` describes the run and the machine. */
export const markdown = (runs: ReadonlyArray<Run>, about: string): string =>
  [
    `# Relevance\n\n${about} [README](../relevance/README.md) says how the queries were judged and what the figures mean.\n`,
    overall("All queries", runs, whole),
    ...sets
      .filter((set) => runs.some((run) => run.found[set] !== undefined))
      .map((set) => overall(titles[set], runs, (run) => run.found[set] ?? [])),
    byKind(runs),
    `## Times\n\nOf one search after another, in this process or from it; on a busy machine they are only an order of magnitude.\n\n${table(
      ["", "p50 ms", "p95 ms"],
      runs.map(({ engine, p50Ms, p95Ms }) => [engine, p50Ms.toFixed(1), p95Ms.toFixed(1)])
    )}\n`
  ].join("\n")

/** The metrics by engine and set, and the position of each query's first right page (null if there is none). */
export const json = (runs: ReadonlyArray<Run>): object =>
  Object.fromEntries(
    runs.map((run) => [
      run.engine,
      {
        all: scores(whole(run)),
        ...Object.fromEntries(
          sets.flatMap((set) => (run.found[set] === undefined ? [] : [[set, scores(run.found[set])]]))
        ),
        positions: Object.fromEntries(
          whole(run)
            .filter(({ judgement }) => judgement.kind !== "none")
            .map((found) => [found.judgement.query, firstRight(found) ?? null])
        )
      }
    ])
  )

const maxMissPosition = 3

/**
 * Lists the queries without a right page among the first three, with the pages found instead. Held-out queries are not
 * shown, because a ranking that was tuned with them could not be judged by them.
 */
export const misses = (run: Run): string =>
  (run.found.queries ?? [])
    .filter(({ judgement }) => judgement.kind !== "none")
    .flatMap((found) => {
      const position = firstRight(found)
      if (position !== undefined && position <= maxMissPosition) return []
      const { kind, query } = found.judgement
      return [
        `${kind}: ${query} (${position ?? "none"})`,
        ...found.urls.slice(0, maxMissPosition).map((url) => `    ${url}`)
      ]
    })
    .join("\n")
