import { barCount, type Granularity, lengthMs, monthsAfter } from "./usageFigures.ts"

/**
 * The same part of the period before, as many hours, days, or months earlier as the range has bars. An unfinished bar is
 * so compared with the same part of its counterpart.
 */
export const previousRange = (
  from: string,
  to: string,
  granularity: Granularity = "day"
): { readonly from: string; readonly to: string } => {
  const count = barCount(Date.parse(from), Date.parse(to), granularity)
  const earlier = (iso: string): string => {
    const at = Date.parse(iso)
    return new Date(
      granularity === "month" ? monthsAfter(at, -count) : at - count * lengthMs[granularity]
    ).toISOString()
  }
  return { from: earlier(from), to: earlier(to) }
}

export const changeOf = (after: number, before: number): number | undefined =>
  before === 0 ? undefined : (after - before) / before

/** Latencies are computed from so many of the newest requests. */
export const latencySample = 100

export const latenciesOf = (entries: ReadonlyArray<{ readonly cached: boolean; readonly duration_ms: number }>) =>
  entries.filter(({ cached }) => !cached).map(({ duration_ms: ms }) => ms)

export const sum = (values: ReadonlyArray<number>): number => values.reduce((all, value) => all + value, 0)

export const mean = (values: ReadonlyArray<number>): number => sum(values) / Math.max(1, values.length)

export const percentile = (values: ReadonlyArray<number>, share: number): number | undefined => {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)]
}

/** Fewer days or searches say nothing about what is usual. */
const minDays = 3
const minSearches = 20

/** Compares a figure of today with those of the days before. Undefined if too little is known. */
export type Verdict = "usual" | "higher" | "lower" | undefined

const verdictOf = (value: number, mean: number, slack: number): Verdict =>
  value > mean + slack ? "higher" : value < mean - slack ? "lower" : "usual"

/** Twice the deviation of the days before, and at least a fifth of their mean, is unusual. */
export const compareWithUsual = (today: number, days: ReadonlyArray<number>): Verdict => {
  if (days.length < minDays || days.every((value) => value === 0)) return undefined
  const usual = mean(days)
  const deviation = Math.sqrt(mean(days.map((value) => (value - usual) ** 2)))
  return verdictOf(today, usual, Math.max(2 * deviation, usual / 5))
}

interface Failures {
  readonly failed: number
  readonly searches: number
}

export const rateOf = ({ failed, searches }: Failures): number => (searches === 0 ? 0 : failed / searches)

/** Half as much again, and at least two percentage points, is unusual. A few searches are none. */
export const compareFailures = (today: Failures, days: Failures): Verdict => {
  if (today.searches < minSearches || days.searches < minSearches) return undefined
  const usual = rateOf(days)
  return verdictOf(rateOf(today), usual, Math.max(0.02, usual / 2))
}
