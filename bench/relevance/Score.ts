import type { Judgement } from "./Judgement.ts"

/** Number of positions that count: one page of results. */
export const depth = 10

/** The lowest grade of a right page. */
const rightGrade = 2

/** The addresses that an engine found for a query, best first. */
export interface Found {
  readonly judgement: Judgement
  readonly urls: ReadonlyArray<string>
}

/** Position of the first right page, from 1. Undefined if none is among the first ten. */
export const firstRight = ({ judgement, urls }: Found): number | undefined => {
  const index = urls.slice(0, depth).findIndex((url) => (judgement.relevant[url] ?? 0) >= rightGrade)
  return index === -1 ? undefined : index + 1
}

const gain = (grades: ReadonlyArray<number>): number =>
  grades.slice(0, depth).reduce((sum, grade, index) => sum + (2 ** grade - 1) / Math.log2(index + 2), 0)

/** nDCG@10: the gain of the found pages, relative to the best possible order of all graded pages. */
export const ndcg = ({ judgement, urls }: Found): number => {
  const best = gain(Object.values(judgement.relevant).sort((a, b) => b - a))
  // Counts each address once, so that repeated results cannot exceed the best order.
  return best === 0 ? 0 : gain([...new Set(urls)].map((url) => judgement.relevant[url] ?? 0)) / best
}

export interface Scores {
  readonly queries: number
  readonly successAt1: number
  readonly successAt3: number
  readonly successAt10: number
  readonly mrr: number
  readonly ndcg: number
}

const mean = (values: ReadonlyArray<number>): number =>
  values.length === 0 ? Number.NaN : values.reduce((sum, value) => sum + value, 0) / values.length

/** Metrics over queries that have an answer. */
export const scores = (found: ReadonlyArray<Found>): Scores => {
  const answerable = found.filter(({ judgement }) => judgement.kind !== "none")
  const positions = answerable.map(firstRight)
  const successAt = (k: number) => mean(positions.map((position) => (position !== undefined && position <= k ? 1 : 0)))
  return {
    queries: answerable.length,
    successAt1: successAt(1),
    successAt3: successAt(3),
    successAt10: successAt(depth),
    mrr: mean(positions.map((position) => (position === undefined ? 0 : 1 / position))),
    ndcg: mean(answerable.map(ndcg))
  }
}

/** The number of unanswerable queries that got an empty page, and the number of unanswerable queries. */
export const emptyPages = (found: ReadonlyArray<Found>): readonly [empty: number, queries: number] => {
  const unanswerable = found.filter(({ judgement }) => judgement.kind === "none")
  return [unanswerable.filter(({ urls }) => urls.length === 0).length, unanswerable.length]
}
