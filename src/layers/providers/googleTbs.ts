import type { CallOptions } from "../../domain/options/OptionSupport.ts"

const periods = { day: "qdr:d", week: "qdr:w", month: "qdr:m", year: "qdr:y" } as const

const american = (date: string): string => {
  const [year, month, day] = date.split("-")
  return `${month}/${day}/${year}`
}

/** Google's `tbs` parameter, which Serper and SerpApi pass on. Undefined without `freshness` or dates. */
export const googleTbs = ({ after, before, freshness }: CallOptions): string | undefined => {
  if (freshness !== undefined) return periods[freshness]
  if (after === undefined && before === undefined) return undefined
  const ends = [
    ...(after === undefined ? [] : [`cd_min:${american(after)}`]),
    ...(before === undefined ? [] : [`cd_max:${american(before)}`])
  ]
  return ["cdr:1", ...ends].join(",")
}
