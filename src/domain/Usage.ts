import { Result, Schema } from "effect"
import { InvalidRequest } from "./errors.ts"
import { acrossFields, type FieldsRule, momentParameter, parseMoment } from "./fields.ts"
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

/** The issues of a stretch of time whose fields are valid each by itself. */
const invalidStretch = ({ from, granularity, to }: Omit<UsageQuery, "groupBy">): string | undefined => {
  if (from >= to) return "must be before to"
  if (to - from <= maxBuckets * shortestMs[granularity]) return undefined
  return `must be less than ${maxBuckets} times the granularity before to`
}

const millisOf = (value: unknown): number | undefined => {
  if (typeof value === "number") return value
  return typeof value === "string" ? parseMoment(value) : undefined
}

const stretch: FieldsRule = ({ from, granularity = "day", to }) => {
  const [begin, end] = [millisOf(from), millisOf(to)]
  const unit = granularities.find((name) => name === granularity)
  if (begin === undefined || end === undefined || unit === undefined) return undefined
  const message = invalidStretch({ from: begin, to: end, granularity: unit })
  return message === undefined ? undefined : { field: "from", message }
}

/** The parameters of `GET /v1/usage`. */
export const UsageParameters = Schema.Struct({
  from: momentParameter("First moment counted; the begin of the running period when absent, 30 days ago on the trial"),
  to: momentParameter("First moment not counted; the end of the running hour when absent"),
  granularity: Schema.optionalKey(
    Granularity.annotate({ identifier: undefined, default: "day", description: "Stretch of one entry in UTC." })
  ),
  group_by: Schema.optionalKey(Grouping).pipe(
    Schema.annotateKey({ description: "Counts each target or key by itself." })
  )
}).check(acrossFields(stretch))

/** The trial has no period; its usage is counted over the last 30 days. */
const trialWindowMs = 30 * 24 * hourMs

/**
 * The stretch that is counted where none is given: the running period, to the end of the running hour, because entries
 * have the store's time, which may be a little ahead of ours.
 */
export const defaultStretch = (
  periodStart: number | undefined,
  now: number
): { readonly from: number; readonly to: number } => {
  const to = (Math.floor(now / hourMs) + 1) * hourMs
  return { from: periodStart ?? to - trialWindowMs, to }
}

/** The searches to count: by default those of the account's running period until now. */
export const toUsageQuery = (
  parameters: typeof UsageParameters.Type,
  defaults: { readonly from: number; readonly to: number }
): Result.Result<UsageQuery, InvalidRequest> => {
  const { from, granularity = "day", group_by: groupBy, to = defaults.to } = parameters
  const query: UsageQuery = { from: from ?? Math.min(defaults.from, to - hourMs), to, granularity, groupBy }
  const message = invalidStretch(query)
  return message === undefined
    ? Result.succeed(query)
    : Result.fail(InvalidRequest.fromIssues([{ field: "from", message }]))
}

export const tooManyRows = InvalidRequest.fromIssues([
  { field: "from", message: `must leave fewer groups: an answer holds at most ${maxRows} rows` }
])
