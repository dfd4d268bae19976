import { partBefore } from "../../domain/text.ts"

/** Returns the weight of a media type, 0 to 1. The most specific range wins (RFC 9110, 12.5.1). */
export const quality = (accept: string, type: string): number => {
  const ranges = accept.split(",").map((range) => {
    const [name = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase())
    const q = parameters.find((parameter) => parameter.startsWith("q="))
    return { name, q: q === undefined ? 1 : Number(q.slice(2)) || 0 }
  })
  const group = `${partBefore(type, "/")}/*`
  const matches = [type, group, "*/*"].map((name) => ranges.find((range) => range.name === name))
  return matches.find((range) => range !== undefined)?.q ?? 0
}

const json = "application/json"
export const jsonLines = "application/x-ndjson"

const namesJsonLines = /(^|,)\s*application\/x-ndjson\s*(;|,|$)/i

/** Detects requests for NDJSON (R46): it must be named, with at least the weight of JSON. */
export const wantsLines = (accept: string | undefined): boolean =>
  accept !== undefined &&
  namesJsonLines.test(accept) &&
  quality(accept, jsonLines) > 0 &&
  quality(accept, jsonLines) >= quality(accept, json)
