import { Result, Schema } from "effect"
import { InvalidRequest } from "./errors.ts"
import { moment, type RawFields, reader, readFields } from "./fields.ts"
import type { Outcome } from "./LogEntry.ts"

export const granularities = ["hour", "day", "month"] as const
export const Granularity = Schema.Literals(granularities).annotate({
  identifier: "Granularity",
  message: `must be one of ${granularities.join(", ")}`
})
export type Granularity = typeof Granularity.Type

export const groupings = ["target", "key"] as const
export const Grouping = Schema.Literals(groupings).annotate({
  identifier: "UsageGroupBy",
  message: `must be one of ${groupings.join(", ")}`
})
export type Grouping = typeof Grouping.Type

/** A stretch of an account's log, counted by time in UTC. */
export interface UsageQuery {
  /** Unix milliseconds. */
  readonly from: number
  /** Unix milliseconds, its first moment outside. */
  readonly to: number
  readonly granularity: Granularity
  readonly groupBy: Grouping | undefined
}

export interface Counts {
  readonly searches: number
  /** Credits charged. */
  readonly credits: number
  readonly outcomes: { readonly [O in Outcome]: number }
}

export interface UsageBucket extends Counts {
  /** Unix milliseconds at which the hour, day or month begins. */
  readonly start: number
  /** The target or the key's id; undefined when nothing was grouped, or no key was used. */
  readonly group: string | undefined
}

/** The sum over buckets. */
export const total = (buckets: ReadonlyArray<Counts>): Counts => {
  const sum = (count: (bucket: Counts) => number) => buckets.reduce((all, bucket) => all + count(bucket), 0)
  return {
    searches: sum(({ searches }) => searches),
    credits: sum(({ credits }) => credits),
    outcomes: {
      ok: sum(({ outcomes }) => outcomes.ok),
      upstream_error: sum(({ outcomes }) => outcomes.upstream_error),
      upstream_timeout: sum(({ outcomes }) => outcomes.upstream_timeout)
    }
  }
}

const hourMs = 3_600_000
const shortestMs = { hour: hourMs, day: 24 * hourMs, month: 28 * 24 * hourMs } as const

/** Hours, days or months that one answer covers: 41 days by the hour. */
const maxBuckets = 1_000
/** With groups, buckets that one answer holds. */
export const maxRows = 10_000

const readGranularity = reader(Granularity)
const readGrouping = reader(Grouping)

/** `GET /v1/usage`: the account's running period up to now where nothing else is asked for. */
export const parseUsage = (
  raw: RawFields,
  defaults: { readonly from: number; readonly to: number }
): Result.Result<UsageQuery, InvalidRequest> => {
  const { issues, read } = readFields(raw)
  const from = read("from", moment, undefined)
  const to = read("to", moment, defaults.to)
  const granularity = read("granularity", readGranularity, "day")
  const query: Omit<UsageQuery, "groupBy"> = { from: from ?? Math.min(defaults.from, to - hourMs), to, granularity }
  const wrong = issues.length === 0 ? wrongStretch(query) : undefined
  if (wrong !== undefined) issues.push({ field: "from", message: wrong })
  const groupBy = read("group_by", readGrouping, undefined)
  return issues.length > 0 ? Result.fail(InvalidRequest.fromIssues(issues)) : Result.succeed({ ...query, groupBy })
}

/** What is wrong with fields that are right each by itself. */
const wrongStretch = ({ from, granularity, to }: Omit<UsageQuery, "groupBy">): string | undefined => {
  if (from >= to) return "must be before to"
  if (to - from <= maxBuckets * shortestMs[granularity]) return undefined
  return `must be less than ${maxBuckets} times the granularity before to`
}

export const tooManyRows = InvalidRequest.fromIssues([
  { field: "from", message: `must leave fewer groups: an answer holds at most ${maxRows} rows` }
])
