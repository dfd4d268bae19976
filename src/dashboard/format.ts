import { now } from "./app/clock.ts"
import { zone } from "./app/preferences.ts"

// Sentences are in English, and so are the digits and words of figures in them. The order of day and month is the
// reader's own. Days are in UTC; times are in the zone that the reader chose.

const isDayFirst = (language: string): boolean => {
  const parts = new Intl.DateTimeFormat(`${language.split("-u-")[0]}-u-ca-gregory`, { day: "numeric", month: "short" })
    .formatToParts(0)
    .map(({ type }) => type)
  return parts.indexOf("day") < parts.indexOf("month")
}

export const localeFor = (language: string): "en-GB" | "en-US" => (isDayFirst(language) ? "en-GB" : "en-US")

const locale = localeFor(navigator.language)

const numbers = (options: Intl.NumberFormatOptions = {}): ((value: number) => string) =>
  new Intl.NumberFormat("en-US", options).format

export const formatNumber = numbers()
export const formatCompact = numbers({ notation: "compact", maximumFractionDigits: 1 })
export const formatRatio = numbers({ maximumFractionDigits: 2 })
export const formatPercent = numbers({ style: "percent", maximumFractionDigits: 1 })
export const formatChange = numbers({ style: "percent", maximumFractionDigits: 0, signDisplay: "exceptZero" })

/** `US$0.80`: other countries have a dollar too. */
const money = new Intl.NumberFormat("en-001", {
  style: "currency",
  currency: "USD",
  trailingZeroDisplay: "stripIfInteger"
})

export const formatMoney = (cents: number): string => money.format(cents / 100)

const days = (options: Intl.DateTimeFormatOptions): ((at: number | Date) => string) =>
  new Intl.DateTimeFormat(locale, { ...options, timeZone: "UTC" }).format

const day = days({ day: "numeric", month: "short" })
const dayAndYear = days({ dateStyle: "medium" })
const hour = days({ hour: "2-digit", minute: "2-digit", hourCycle: "h23" })
const month = days({ month: "short" })
const monthAndYear = days({ month: "long", year: "numeric" })

export const formatDayAndYear = (iso: string): string => dayAndYear(new Date(iso))

const zoned = (options: Intl.DateTimeFormatOptions): ((iso: string) => string) => {
  const formats = {
    local: new Intl.DateTimeFormat(locale, options),
    utc: new Intl.DateTimeFormat(locale, { ...options, timeZone: "UTC" })
  }
  return (iso) => {
    const at = Date.parse(iso)
    return Number.isNaN(at) ? iso : formats[zone.value].format(at)
  }
}

export const formatMoment = zoned({
  day: "numeric",
  month: "short",
  year: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23"
})

export const formatShortMoment = zoned({
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23"
})

/** In UTC. `short` is for chart labels, `whole` for everything else. */
export const formatStretch = (
  at: number,
  granularity: "hour" | "day" | "month"
): { readonly short: string; readonly whole: string } => {
  if (granularity === "month") return { short: month(at), whole: monthAndYear(at) }
  if (granularity === "day") return { short: day(at), whole: dayAndYear(at) }
  return { short: hour(at), whole: `${dayAndYear(at)}, ${hour(at)}` }
}

export const formatDuration = (ms: number): string =>
  ms < 1_000 ? `${Math.round(ms)} ms` : `${formatNumber(Math.round(ms / 100) / 10)} s`

const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" })

const units: ReadonlyArray<readonly [unit: Intl.RelativeTimeFormatUnit, ms: number]> = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000]
]

/** `in 9 days`, `2 hours ago`. */
export const formatRelative = (iso: string, at: number = now()): string => {
  const distance = Date.parse(iso) - at
  for (const [unit, ms] of units) {
    if (Math.abs(distance) >= ms) return relative.format(Math.round(distance / ms), unit)
  }
  return relative.format(0, "second")
}

/** In its largest unit: `3 days`, `1 minute`. */
export const formatSpan = (iso: string, at: number = now()): string => {
  const distance = at - Date.parse(iso)
  const [unit, ms] = units.find(([, ms]) => distance >= ms) ?? ["minute", 60_000]
  return plural(Math.max(1, Math.round(distance / ms)), unit)
}

export const plural = (count: number, one: string, many: string = `${one}s`): string =>
  `${formatNumber(count)} ${count === 1 ? one : many}`

/** `10 seconds`, `5 minutes`, `2 hours`. */
export const waitText = (seconds: number): string =>
  seconds < 120
    ? plural(seconds, "second")
    : seconds < 7_200
      ? plural(Math.ceil(seconds / 60), "minute")
      : plural(Math.ceil(seconds / 3_600), "hour")
