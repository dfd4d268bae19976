import { zone } from "./app/preferences.ts"

// Days are in UTC; times are in the zone that the reader chose.

const number = new Intl.NumberFormat()
const compact = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 })
const percent = new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 1 })
const money = new Intl.NumberFormat(undefined, {
  style: "currency",
  currency: "USD",
  trailingZeroDisplay: "stripIfInteger"
})
const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", timeZone: "UTC" })
const dayAndYear = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeZone: "UTC" })
const hour = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit",
  minute: "2-digit",
  hourCycle: "h23",
  timeZone: "UTC"
})
const month = new Intl.DateTimeFormat(undefined, { month: "short", timeZone: "UTC" })
const monthAndYear = new Intl.DateTimeFormat(undefined, { month: "long", year: "numeric", timeZone: "UTC" })
const zoned = (options: Intl.DateTimeFormatOptions): ((iso: string) => string) => {
  const formats = {
    local: new Intl.DateTimeFormat(undefined, options),
    utc: new Intl.DateTimeFormat(undefined, { ...options, timeZone: "UTC" })
  }
  return (iso) => {
    const at = Date.parse(iso)
    return Number.isNaN(at) ? iso : formats[zone.value].format(at)
  }
}
const moment = zoned({ dateStyle: "medium", timeStyle: "medium" })
const shortMoment = zoned({
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23"
})
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" })

export const formatNumber = (value: number): string => number.format(value)

export const formatCompact = (value: number): string => compact.format(value)

const ratio = new Intl.NumberFormat(undefined, { maximumFractionDigits: 2 })

export const formatRatio = (value: number): string => ratio.format(value)

export const formatPercent = (share: number): string => percent.format(share)

export const formatMoney = (cents: number): string => money.format(cents / 100)

export const formatDay = (iso: string): string => day.format(new Date(iso))

export const formatDayAndYear = (iso: string): string => dayAndYear.format(new Date(iso))

/** In UTC. `short` is for chart labels, `whole` for everything else. */
export const formatStretch = (
  at: number,
  granularity: "hour" | "day" | "month"
): { readonly short: string; readonly whole: string } => {
  if (granularity === "month") return { short: month.format(at), whole: monthAndYear.format(at) }
  if (granularity === "day") return { short: day.format(at), whole: dayAndYear.format(at) }
  return { short: hour.format(at), whole: `${dayAndYear.format(at)}, ${hour.format(at)}` }
}

export const formatMoment = (iso: string): string => moment(iso)

export const formatShortMoment = (iso: string): string => shortMoment(iso)

export const formatDuration = (ms: number): string =>
  ms < 1_000 ? `${Math.round(ms)} ms` : `${number.format(Math.round(ms / 100) / 10)} s`

const units: ReadonlyArray<readonly [unit: Intl.RelativeTimeFormatUnit, ms: number]> = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000]
]

/** `in 9 days`, `2 hours ago`. */
export const formatRelative = (iso: string, now: number = Date.now()): string => {
  const distance = Date.parse(iso) - now
  for (const [unit, ms] of units) {
    if (Math.abs(distance) >= ms) return relative.format(Math.round(distance / ms), unit)
  }
  return relative.format(0, "second")
}

/** In its largest unit: `3 days`, `1 minute`. */
export const formatSpan = (iso: string, now: number = Date.now()): string => {
  const distance = now - Date.parse(iso)
  const [unit, ms] = units.find(([, ms]) => distance >= ms) ?? ["minute", 60_000]
  return plural(Math.max(1, Math.round(distance / ms)), unit)
}

export const plural = (count: number, one: string, many: string = `${one}s`): string =>
  `${number.format(count)} ${count === 1 ? one : many}`
