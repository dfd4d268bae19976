import { parseMoment, toMoment } from "../requests/fields.ts"

const dayMs = 86_400_000

/** A date in UTC, `YYYY-MM-DD`. */
export const dayOf = (millis: number): string => toMoment(Math.max(0, millis)).slice(0, 10)

/** For providers whose last date is exclusive. */
export const dayAfter = (date: string | undefined): string | undefined => {
  const millis = date === undefined ? undefined : parseMoment(date)
  return millis === undefined ? undefined : dayOf(millis + dayMs)
}

const maxUnits = 64

const iso = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2})(:\d{2})?(?:\.\d{1,9})?\s*(Z|[+-]\d{2}:?\d{2})?)?$/i

const relative = /^(\d{1,4}|an?)\s+(second|sec|minute|min|hour|hr|day|week|month|year)s?\s+ago$/i

const daysOf: Readonly<Record<string, number>> = {
  second: 0,
  sec: 0,
  minute: 1 / 1_440,
  min: 1 / 1_440,
  hour: 1 / 24,
  hr: 1 / 24,
  day: 1,
  week: 7,
  month: 30,
  year: 365
}

const months = "jan feb mar apr may jun jul aug sep oct nov dec".split(" ")

const monthFirst = /^(?:[a-z]{3,9},?\s+)?([a-z]{3,9})\.?\s+(\d{1,2})(?:st|nd|rd|th)?,?\s+(\d{4})$/i
const dayFirst =
  /^(?:[a-z]{3,9},?\s+)?(\d{1,2})\s+([a-z]{3,9})\.?,?\s+(\d{4})(?:\s+(\d{2}:\d{2}:\d{2})\s+(?:GMT|UTC|[+-]0000))?$/i

const existing = (date: string): string | undefined => (parseMoment(date) === undefined ? undefined : date)

const fromIso = (text: string): string | undefined => {
  const [, date, time, seconds = ":00", zone] = iso.exec(text) ?? []
  if (date === undefined || time === undefined || zone === undefined)
    return date === undefined ? undefined : existing(date)
  const offset = /^z$/i.test(zone) ? "Z" : `${zone.slice(0, 3)}:${zone.slice(-2)}`
  const millis = parseMoment(`${date}T${time}${seconds}${offset}`)
  return millis === undefined ? undefined : `${toMoment(millis).slice(0, 19)}Z`
}

const fromWords = (text: string): string | undefined => {
  const [, name = "", day = "", year = ""] = monthFirst.exec(text) ?? []
  const [, otherDay = day, otherName = name, otherYear = year, time] = dayFirst.exec(text) ?? []
  const month = months.indexOf(otherName.slice(0, 3).toLowerCase()) + 1
  if (month === 0) return undefined
  const date = existing(`${otherYear}-${String(month).padStart(2, "0")}-${otherDay.padStart(2, "0")}`)
  return date === undefined || time === undefined ? date : `${date}T${time}Z`
}

/** Reads only ISO 8601. Returns a date, or a UTC date-time if it has a zone. */
export const parseIsoDate = (value: unknown): string | undefined =>
  typeof value === "string" && value.length <= maxUnits ? fromIso(value.trim()) : undefined

/** Reads ISO 8601, English dates and ages like "3 days ago". Returns a date, or a UTC date-time if it has a zone. */
export const readPublished = (value: unknown, nowMs: number): string | undefined => {
  if (typeof value !== "string" || value.length > maxUnits) return undefined
  const text = value.trim()
  if (/^\d/.test(text) && iso.test(text)) return fromIso(text)
  if (/^yesterday$/i.test(text)) return dayOf(nowMs - dayMs)
  if (/^today$/i.test(text)) return dayOf(nowMs)
  const [, count = "", unit = ""] = relative.exec(text) ?? []
  if (unit !== "") {
    const days = daysOf[unit.toLowerCase()] ?? 0
    return dayOf(nowMs - (/^\d/.test(count) ? Number(count) : 1) * days * dayMs)
  }
  return fromWords(text)
}
