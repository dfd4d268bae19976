import type { Answer } from "./api/routes.ts"
import { dayMs } from "./figures.ts"

/** The stretch, the bars and the tables of the usage page. All of it is in UTC, as the API counts. */

type Usage = Answer<"GET /v1/usage">
export type Granularity = Usage["granularity"]
type Row = Usage["series"][number]

export const hourMs = 3_600_000

/** Stretches that end now. Without one the API's own is shown: the running period, or 30 days on the trial. */
export const presets = ["24h", "7d", "30d", "90d", "12m"] as const
export type Preset = (typeof presets)[number]
export type Range = "default" | Preset | "own"

const isPreset = (text: string | null): text is Preset => presets.some((preset) => preset === text)

export const rangeOf = (query: URLSearchParams): Range => {
  const range = query.get("range")
  if (isPreset(range)) return range
  return range === "own" || query.has("from") || query.has("to") ? "own" : "default"
}

/** The begin of the hour, day or month of a moment. */
export const beginOf = (at: number, granularity: Granularity): number => {
  if (granularity === "hour") return Math.floor(at / hourMs) * hourMs
  if (granularity === "day") return Math.floor(at / dayMs) * dayMs
  const date = new Date(at)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth())
}

const monthsBefore = (at: number, months: number): number => {
  const date = new Date(at)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - months)
}

/** The first moment of a preset, which ends with the running hour. */
export const presetStart = (preset: Preset, now: number): string => {
  const today = beginOf(now, "day")
  const starts: Readonly<Record<Preset, number>> = {
    "24h": beginOf(now, "hour") - 23 * hourMs,
    "7d": today - 6 * dayMs,
    "30d": today - 29 * dayMs,
    "90d": today - 89 * dayMs,
    "12m": monthsBefore(now, 11)
  }
  return new Date(starts[preset]).toISOString()
}

const minuteForm = /^\d{4}-\d\d-\d\dT\d\d:\d\d$/

/** A moment of a browser's field, which is in UTC here, as the API takes it. */
export const toMoment = (text: string): string => (minuteForm.test(text) ? `${text}:00Z` : text)

/** A moment of the API as a browser's field takes it. */
export const toField = (iso: string): string => iso.slice(0, 16)

const stretchOf = (range: Range, from: string, to: string, now: number): number => {
  if (range === "24h") return dayMs
  if (range === "12m") return 365 * dayMs
  if (range !== "own") return 30 * dayMs
  const [begin, end] = [Date.parse(toMoment(from)), Date.parse(toMoment(to))]
  return (Number.isNaN(end) ? now : end) - (Number.isNaN(begin) ? now - 30 * dayMs : begin)
}

/** The most hours, days or months that an answer of the API covers. */
const maxBuckets = 1_000

const isGranularity = (text: string | null): text is Granularity =>
  text === "hour" || text === "day" || text === "month"

export interface View {
  readonly range: Range
  readonly granularity: Granularity
  readonly groupBy: "outcome" | "target" | "key"
  /** A group that is shown alone. */
  readonly only: string | undefined
  /** As fields of a browser have them; empty where the API's default counts. */
  readonly from: string
  readonly to: string
  /** False for hours of a stretch that is too long for them. */
  readonly allowsHours: boolean
}

/** The view that an address asks for. */
export const viewOf = (query: URLSearchParams, now: number): View => {
  const range = rangeOf(query)
  const [from, to] = [query.get("from") ?? "", query.get("to") ?? ""]
  const stretch = stretchOf(range, from, to, now)
  const allowsHours = stretch <= maxBuckets * hourMs
  const asked = query.get("granularity")
  const fitting = stretch <= 2 * dayMs ? "hour" : stretch <= 100 * dayMs ? "day" : "month"
  const groupBy = query.get("group_by")
  return {
    range,
    granularity: isGranularity(asked) && (asked !== "hour" || allowsHours) ? asked : fitting,
    groupBy: groupBy === "target" || groupBy === "key" ? groupBy : "outcome",
    only: groupBy === "key" ? (query.get("key") ?? undefined) : undefined,
    from,
    to,
    allowsHours
  }
}

/** The parameters with which the API answers a view. */
export const parametersOf = ({ from, granularity, groupBy, range, to }: View, now: number) => ({
  granularity,
  group_by: groupBy === "outcome" ? undefined : groupBy,
  from: range === "default" ? undefined : range === "own" ? toMoment(from) : presetStart(range, now),
  to: range === "own" ? toMoment(to) : undefined
})

const next = (at: number, granularity: Granularity): number =>
  granularity === "hour" ? at + hourMs : granularity === "day" ? at + dayMs : monthsBefore(at, -1)

/** The begin of every hour, day or month of an answer. Its series leaves out those without a search. */
export const stretches = ({ from, granularity, to }: Pick<Usage, "from" | "to" | "granularity">): Array<number> => {
  const [end, begins] = [Date.parse(to), [] as Array<number>]
  let at = beginOf(Date.parse(from), granularity)
  while (at < end && begins.length <= maxBuckets) {
    begins.push(at)
    at = next(at, granularity)
  }
  return begins
}

export interface Group {
  /** The target or the id of the key; null for searches without a key. */
  readonly id: string | null
  readonly rows: ReadonlyArray<Row>
  readonly searches: number
  readonly credits: number
  readonly outcomes: Row["outcomes"]
}

const groupOf = (id: string | null, rows: ReadonlyArray<Row>): Group => {
  const sum = (count: (row: Row) => number): number => rows.reduce((all, row) => all + count(row), 0)
  return {
    id,
    rows,
    searches: sum(({ searches }) => searches),
    credits: sum(({ credits }) => credits),
    outcomes: {
      ok: sum(({ outcomes }) => outcomes.ok),
      upstream_error: sum(({ outcomes }) => outcomes.upstream_error),
      upstream_timeout: sum(({ outcomes }) => outcomes.upstream_timeout)
    }
  }
}

/** The groups of an answer, those with the most searches first. */
export const groupsOf = (series: ReadonlyArray<Row>): ReadonlyArray<Group> => {
  const rows = new Map<string | null, Array<Row>>()
  for (const row of series) rows.set(row.group, [...(rows.get(row.group) ?? []), row])
  return [...rows].map(([id, rows]) => groupOf(id, rows)).sort((a, b) => b.searches - a.searches)
}

/** Colours that a chart has for groups. The last is for all groups that are over. */
const maxSeries = 8

/** The largest groups each by itself, and the searches of all others together. */
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

/** The searches of a group in each stretch. */
export const searchesIn = (rows: ReadonlyArray<Row>, begins: ReadonlyArray<number>): ReadonlyArray<number> => {
  const counts = new Map<number, number>()
  for (const { searches, start } of rows) {
    const at = Date.parse(start)
    counts.set(at, (counts.get(at) ?? 0) + searches)
  }
  return begins.map((at) => counts.get(at) ?? 0)
}
