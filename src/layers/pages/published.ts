const iso = /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(:\d{2}(?:\.\d{1,9})?)?\s*(Z|[+-]\d{2}(?::?\d{2})?)?)?$/i
const compactIso = /^(\d{4})(\d{2})(\d{2})(?:T(\d{2})(\d{2})(\d{2})?(Z|[+-]\d{4})?)?$/
const hasZone = /\b(?:GMT|UTC?|Z|[ECMP][SD]T)\b|[+-]\d{2}:?\d{2}\)?$/i
const hasTime = /\d:\d{2}/

const isDay = (year: number, month: number, day: number): boolean => {
  const date = new Date(Date.UTC(year, month - 1, day))
  return year >= 1000 && date.getUTCMonth() === month - 1 && date.getUTCDate() === day
}

const zoneOf = (zone: string): string => {
  if (zone === "" || /^z$/i.test(zone)) return zone.toUpperCase()
  const digits = zone.slice(1).replace(":", "").padEnd(4, "0")
  return `${zone.slice(0, 1)}${digits.slice(0, 2)}:${digits.slice(2)}`
}

/** Does not invent a time or time zone. Dates in words must be English, as in feeds. */
export const readPublished = (stated: string): string | undefined => {
  const text = stated.trim()
  if (text.length > 60) return undefined
  const [, year = "", month = "", day = "", hour, minute, seconds = "", zone = ""] =
    iso.exec(text) ?? compactIso.exec(text) ?? []
  if (year !== "") {
    if (!isDay(Number(year), Number(month), Number(day))) return undefined
    const date = `${year}-${month}-${day}`
    if (hour === undefined || minute === undefined || Number(hour) > 23 || Number(minute) > 59) return date
    const second = /^\d/.test(seconds) ? `:${seconds}` : seconds
    return `${date}T${hour}:${minute}${second}${zoneOf(zone)}`
  }
  if (!/[a-z]{3}/i.test(text) || !/\b\d{4}\b/.test(text)) return undefined
  const inUtc = hasZone.test(text)
  const time = Date.parse(inUtc ? text : `${text} UTC`)
  if (Number.isNaN(time) || time < Date.UTC(1000, 0)) return undefined
  const written = new Date(time).toISOString()
  if (!/^\d{4}-/.test(written)) return undefined
  return hasTime.test(text) ? `${written.slice(0, 19)}${inUtc ? "Z" : ""}` : written.slice(0, 10)
}
