import { DateTime, Result, Schema } from "effect"
import { InvalidRequest } from "../errors.ts"
import { acrossFields, type FieldsRule, momentParameter, parseMoment } from "../requests/fields.ts"
import type { Outcome } from "./LogEntry.ts"

export const granularities = ["hour", "day", "month"] as const
export const Granularity = Schema.Literals(granularities).annotate({
  identifier: "Granularity",
  message: `must be one of ${granularities.join(", ")}`
})
export type Granularity = typeof Granularity.Type

export const groupings = ["target", "key", "member"] as const
export const Grouping = Schema.Literals(groupings).annotate({
  identifier: "UsageGroupBy",
  message: `must be one of ${groupings.join(", ")}`
})
export type Grouping = typeof Grouping.Type

/** Unix milliseconds; `to` is exclusive. Hours, days and months are in UTC. */
export interface UsageQuery {
  readonly from: number
  /** Unix milliseconds, exclusive. */
  readonly to: number
  readonly granularity: Granularity
  readonly groupBy: Grouping | undefined
}

export interface Counts {
  readonly searches: number
  readonly credits: number
  readonly outcomes: { readonly [O in Outcome]: number }
}

export interface UsageBucket extends Counts {
  readonly start: number
  /** The target, the key's ID or the member's address. Undefined without grouping, or if there is none. */
  readonly group: string | undefined
}

export const total = (buckets: ReadonlyArray<Counts>): Counts => {
  const sum = (count: (bucket: Counts) => number) => buckets.reduce((all, bucket) => all + count(bucket), 0)
  return {
    searches: sum(({ searches }) => searches),
    credits: sum(({ credits }) => credits),
    outcomes: {
      ok: sum(({ outcomes }) => outcomes.ok),
      upstream_error: sum(({ outcomes }) => outcomes.upstream_error),
      upstream_timeout: sum(({ outcomes }) => outcomes.upstream_timeout),
      page_unreadable: sum(({ outcomes }) => outcomes.page_unreadable)
    }
  }
}

const hourMs = 3_600_000
const shortestMs = { hour: hourMs, day: 24 * hourMs, month: 28 * 24 * hourMs } as const

const maxBuckets = 1_000
export const maxRows = 10_000

const rangeIssue = ({ from, granularity, to }: Omit<UsageQuery, "groupBy">): string | undefined => {
  if (from >= to) return "must be before to"
  if (to - from <= maxBuckets * shortestMs[granularity]) return undefined
  return `must be less than ${maxBuckets} times the granularity before to`
}

const millisOf = (value: unknown): number | undefined => {
  if (typeof value === "number") return value
  return typeof value === "string" ? parseMoment(value) : undefined
}

const rangeRule: FieldsRule = ({ from, granularity = "day", to }) => {
  const [begin, end] = [millisOf(from), millisOf(to)]
  const unit = granularities.find((name) => name === granularity)
  if (begin === undefined || end === undefined || unit === undefined) return undefined
  const message = rangeIssue({ from: begin, to: end, granularity: unit })
  return message === undefined ? undefined : { field: "from", message }
}

export const UsageParameters = Schema.Struct({
  from: momentParameter(
    "Start of the range, inclusive. When absent, the start of the current period; on the trial, 30 days ago"
  ),
  to: momentParameter("End of the range, exclusive. When absent, the end of the current hour"),
  granularity: Schema.optionalKey(
    Granularity.annotate({ identifier: undefined, default: "day", description: "Length of one bucket, in UTC." })
  ),
  group_by: Schema.optionalKey(Grouping).pipe(
    Schema.annotateKey({ description: "Returns separate buckets for each target, key or member." })
  )
}).check(acrossFields(rangeRule))

const bucketStart = (at: number, granularity: Granularity): number =>
  DateTime.toEpochMillis(DateTime.startOf(DateTime.makeUnsafe(at), granularity))

const nextStart = (start: number, granularity: Granularity): number =>
  DateTime.toEpochMillis(DateTime.add(DateTime.makeUnsafe(start), { [`${granularity}s`]: 1 }))

const emptyBucket = (start: number): UsageBucket => ({ start, group: undefined, ...total([]) })

/** Adds empty buckets, without which a chart would draw a line across idle days. */
export const fillBuckets = (
  { from, granularity, to }: Pick<UsageQuery, "from" | "to" | "granularity">,
  buckets: ReadonlyArray<UsageBucket>
): ReadonlyArray<UsageBucket> => {
  const used = Map.groupBy(buckets, ({ start }) => start)
  const filled: Array<UsageBucket> = []
  for (let start = bucketStart(from, granularity); start < to; start = nextStart(start, granularity)) {
    filled.push(...(used.get(start) ?? [emptyBucket(start)]))
  }
  return filled
}

/** The trial has no period, so its last 30 days are counted. */
const trialWindowMs = 30 * 24 * hourMs

/** Ends after the current hour: entries have the database's time, which may be slightly ahead of this process. */
export const defaultStretch = (
  periodStart: number | undefined,
  now: number
): { readonly from: number; readonly to: number } => {
  const to = (Math.floor(now / hourMs) + 1) * hourMs
  return { from: periodStart ?? to - trialWindowMs, to }
}

export const toUsageQuery = (
  parameters: typeof UsageParameters.Type,
  defaults: { readonly from: number; readonly to: number }
): Result.Result<UsageQuery, InvalidRequest> => {
  const { from, granularity = "day", group_by: groupBy, to = defaults.to } = parameters
  const query: UsageQuery = { from: from ?? Math.min(defaults.from, to - hourMs), to, granularity, groupBy }
  const message = rangeIssue(query)
  return message === undefined
    ? Result.succeed(query)
    : Result.fail(InvalidRequest.fromIssues([{ field: "from", message }]))
}

export const tooManyRows = InvalidRequest.fromIssues([
  { field: "from", message: `must start later or use a coarser granularity: a response has at most ${maxRows} rows` }
])
