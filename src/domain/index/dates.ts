import { dayAfter, dayOf } from "../options/published.ts"
import type { Span } from "../options/SearchOptions.ts"

export const dateTerms = (published: string): ReadonlyArray<string> =>
  published === "" ? [] : [4, 7, 10].map((length) => `#${published.slice(0, length)}`)

/** Without this limit, a search without a last date would have 8,000 terms. */
const lastDay = "2199-12-31"

const lastMs = 7_258_118_400_000

const lastOfMonth = (month: string): string => {
  const [year = "", number = ""] = month.split("-")
  const days =
    number === "02"
      ? dayAfter(`${month}-28`)?.slice(0, 7) === month
        ? 29
        : 28
      : "04 06 09 11".includes(number)
        ? 30
        : 31
  return `${year}-${number}-${days}`
}

/** Each document of the span has one of these terms. A whole year or month is a single term. */
export const spanTerms = ({ fromMs, toMs }: Span): ReadonlyArray<string> => {
  const terms: Array<string> = []
  const last = toMs >= lastMs ? lastDay : dayOf(toMs)
  let day: string | undefined = dayOf(fromMs)
  while (day !== undefined && day <= last) {
    const year = day.slice(0, 4)
    const month = day.slice(0, 7)
    if (day.endsWith("-01-01") && `${year}-12-31` <= last) {
      terms.push(`#${year}`)
      day = dayAfter(`${year}-12-31`)
    } else if (day.endsWith("-01") && lastOfMonth(month) <= last) {
      terms.push(`#${month}`)
      day = dayAfter(lastOfMonth(month))
    } else {
      terms.push(`#${day}`)
      day = dayAfter(day)
    }
  }
  return terms
}
