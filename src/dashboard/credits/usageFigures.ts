import type { Usage } from "../api/routes.ts"
import { dayMs } from "./figures.ts"

export type Granularity = Usage["granularity"]
type Row = Usage["series"][number]

export const hourMs = 3_600_000

/** Ranges that end now. The default range is the API's: the current period, or 30 days on the trial. */
export const presets = ["24h", "7d", "30d", "90d", "12m"] as const
export type Preset = (typeof presets)[number]
export type Range = "default" | Preset | "own"

const isPreset = (text: string | null): text is Preset => presets.some((preset) => preset === text)

export const rangeOf = (query: URLSearchParams): Range => {
  const range = query.get("range")
  if (isPreset(range)) return range
  return range === "own" || query.has("from") || query.has("to") ? "own" : "default"
}

export const startOf = (at: number, granularity: Granularity): number => {
  if (granularity === "hour") return Math.floor(at / hourMs) * hourMs
  if (granularity === "day") return Math.floor(at / dayMs) * dayMs
  const date = new Date(at)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth())
}

/** The end of the hour, day, or month that begins at this time. */
export const endOf = (start: number, granularity: Granularity): number =>
  granularity === "month" ? monthStart(start, 1) : start + lengthMs[granularity]

/** The start of the month so many months later. */
const monthStart = (at: number, months: number): number => {
  const date = new Date(at)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months)
}

/** The same time of so many months later, or the end of that month if it is shorter. */
export const monthsAfter = (at: number, months: number): number =>
  Math.min(monthStart(at, months) + (at - monthStart(at, 0)), monthStart(at, months + 1))

/** The number of hours, days, or months that a range touches. */
export const barCount = (from: number, to: number, granularity: Granularity): number => {
  if (granularity !== "month") return Math.ceil((to - startOf(from, granularity)) / lengthMs[granularity])
  const [start, end] = [new Date(from), new Date(to - 1)]
  return (end.getUTCFullYear() - start.getUTCFullYear()) * 12 + end.getUTCMonth() - start.getUTCMonth() + 1
}

export const lengthMs = { hour: hourMs, day: dayMs } as const

export const presetStart = (preset: Preset, now: number): string => {
  const today = startOf(now, "day")
  const starts: Readonly<Record<Preset, number>> = {
    "24h": startOf(now, "hour") - 23 * hourMs,
    "7d": today - 6 * dayMs,
    "30d": today - 29 * dayMs,
    "90d": today - 89 * dayMs,
    "12m": monthStart(now, -11)
  }
  return new Date(starts[preset]).toISOString()
}

const minuteForm = /^\d{4}-\d\d-\d\dT\d\d:\d\d$/

export const toMoment = (text: string): string => (minuteForm.test(text) ? `${text}:00Z` : text)

export const toField = (iso: string): string => iso.slice(0, 16)

const rangeLength = (range: Range, from: string, to: string, now: number): number => {
  if (range === "24h") return dayMs
  if (range === "12m") return 365 * dayMs
  if (range !== "own") return 30 * dayMs
  const [start, end] = [Date.parse(toMoment(from)), Date.parse(toMoment(to))]
  return (Number.isNaN(end) ? now : end) - (Number.isNaN(start) ? now - 30 * dayMs : start)
}

/** The API's limit for one response. */
const maxBuckets = 1_000

const isGranularity = (text: string | null): text is Granularity =>
  text === "hour" || text === "day" || text === "month"

export interface View {
  readonly range: Range
  readonly granularity: Granularity
  readonly groupBy: "outcome" | "target" | "key" | "member" | "kind"
  readonly only: string | undefined
  readonly from: string
  readonly to: string
  readonly allowsHours: boolean
}

const splits = ["target", "key", "member", "kind"] as const

export const viewOf = (query: URLSearchParams, now: number): View => {
  const range = rangeOf(query)
  const [from, to] = [query.get("from") ?? "", query.get("to") ?? ""]
  const length = rangeLength(range, from, to, now)
  const allowsHours = length <= maxBuckets * hourMs
  const asked = query.get("granularity")
  const fitting = length <= 2 * dayMs ? "hour" : length <= 100 * dayMs ? "day" : "month"
  const groupBy = query.get("group_by")
  return {
    range,
    granularity: isGranularity(asked) && (asked !== "hour" || allowsHours) ? asked : fitting,
    groupBy: splits.find((name) => name === groupBy) ?? "outcome",
    only: groupBy === "key" ? (query.get("key") ?? undefined) : undefined,
    from,
    to,
    allowsHours
  }
}

export const parametersOf = ({ from, granularity, groupBy, range, to }: View, now: number) => ({
  granularity,
  group_by: groupBy === "outcome" ? undefined : groupBy === "kind" ? "target" : groupBy,
  from: range === "default" ? undefined : range === "own" ? toMoment(from) : presetStart(range, now),
  to: range === "own" ? toMoment(to) : undefined
})

/** `to` is exclusive: a range that ends at midnight ends on the day before. */
export const lastMoment = ({ to }: Pick<Usage, "to">): string => new Date(Date.parse(to) - 1).toISOString()

export const stretches = ({ series }: Pick<Usage, "series">): ReadonlyArray<number> => [
  ...new Set(series.map(({ start }) => Date.parse(start)))
]

export interface Group extends Counts {
  /** The target or the key id; null for searches without a key. */
  readonly id: string | null
  readonly rows: ReadonlyArray<Row>
}

type Counts = Pick<Row, "searches" | "credits" | "outcomes">

export const sumOf = (rows: ReadonlyArray<Counts>): Counts => {
  const sum = (count: (row: Counts) => number): number => rows.reduce((all, row) => all + count(row), 0)
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

const groupOf = (id: string | null, rows: ReadonlyArray<Row>): Group => ({ id, rows, ...sumOf(rows) })

const kindOf = (target: string | null): string | null => (target === null || target === "page" ? target : "search")

export const byKind = (series: ReadonlyArray<Row>): ReadonlyArray<Row> => {
  const rows = Map.groupBy(series, ({ group, start }) => `${start} ${kindOf(group)}`)
  return [...rows.values()].flatMap((same) =>
    same.slice(0, 1).map(({ group, start }) => ({ start, group: kindOf(group), ...sumOf(same) }))
  )
}

export const groupsOf = (series: ReadonlyArray<Row>): ReadonlyArray<Group> => {
  const searched = series.filter(({ searches }) => searches > 0)
  const rows = Map.groupBy(searched, ({ group }) => group)
  return [...rows].map(([id, rows]) => groupOf(id, rows)).sort((a, b) => b.searches - a.searches)
}

const maxSeries = 8

export const drawnGroups = (
  groups: ReadonlyArray<Group>
): { readonly drawn: ReadonlyArray<Group>; readonly others: Group | undefined } =>
  groups.length <= maxSeries
    ? { drawn: groups, others: undefined }
    : {
        drawn: groups.slice(0, maxSeries - 1),
        others: groupOf(
          null,
          groups.slice(maxSeries - 1).flatMap(({ rows }) => rows)
        )
      }

export const searchesIn = (
  rows: ReadonlyArray<Row>,
  starts: ReadonlyArray<number>,
  count: (row: Row) => number = ({ searches }) => searches
): ReadonlyArray<number> => {
  const counts = new Map<number, number>()
  for (const row of rows) {
    const at = Date.parse(row.start)
    counts.set(at, (counts.get(at) ?? 0) + count(row))
  }
  return starts.map((at) => counts.get(at) ?? 0)
}

/** The bars of the searches that succeeded and failed, of one group if it is given. */
export const barsOf = (
  { granularity, series }: Pick<Usage, "granularity" | "series">,
  group: string | undefined,
  now: number
) => {
  const rows = Map.groupBy(series, ({ start }) => Date.parse(start))
  return [...rows].map(([start, all]) => {
    const { outcomes, searches } = sumOf(group === undefined ? all : all.filter((row) => row.group === group))
    const end = endOf(start, granularity)
    return {
      start,
      end,
      values: [outcomes.ok, searches - outcomes.ok],
      isUnfinished: end > now
    }
  })
}

/** The log's range of these bars. It has no end where time is not over. */
export const rangeOfBars = (
  bars: ReadonlyArray<{ readonly start: number; readonly end: number }>,
  first: number,
  last: number,
  now: number
): { readonly from: string; readonly to: string | undefined } | undefined => {
  const [start, end] = [bars[first]?.start, bars[last]?.end]
  if (start === undefined || end === undefined) return undefined
  return { from: new Date(start).toISOString(), to: end > now ? undefined : new Date(end).toISOString() }
}

export interface Day {
  readonly start: number
  readonly searches: number
  readonly failed: number
  readonly credits: number
  /** Searches by the time of day that it is now. The present hour counts by the share of it that has passed. */
  readonly soFar: number
}

/** Sums the hours of each day. */
export const daysOf = (hours: ReadonlyArray<Row>, now: number): ReadonlyArray<Day> =>
  [...Map.groupBy(hours, ({ start }) => startOf(Date.parse(start), "day"))].map(([start, rows]) => {
    const { credits, outcomes, searches } = sumOf(rows)
    const passed = now - startOf(now, "day")
    const soFar = rows.reduce((all, row) => {
      const share = (passed - (Date.parse(row.start) - start)) / hourMs
      return all + row.searches * Math.min(1, Math.max(0, share))
    }, 0)
    return { start, searches, failed: outcomes.upstream_error + outcomes.upstream_timeout, credits, soFar }
  })
