/** The weight of a media type in an `Accept` header, 0 to 1. The most specific range decides (RFC 9110, 12.5.1). */
export const quality = (accept: string, type: string): number => {
  const ranges = accept.split(",").map((range) => {
    const [name = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase())
    const q = parameters.find((parameter) => parameter.startsWith("q="))
    return { name, q: q === undefined ? 1 : Number(q.slice(2)) || 0 }
  })
  const group = `${type.split("/", 1).join("")}/*`
  const matches = [type, group, "*/*"].map((name) => ranges.find((range) => range.name === name))
  return matches.find((range) => range !== undefined)?.q ?? 0
}

const json = "application/json"
export const jsonLines = "application/x-ndjson"

const namesJsonLines = /(^|,)\s*application\/x-ndjson\s*(;|,|$)/i

/**
 * Checks if a caller asks for lines of JSON (R46). They must be named, because clients that take any type expect JSON, and
 * their weight must not be below that of JSON.
 */
export const wantsLines = (accept: string | undefined): boolean =>
  accept !== undefined &&
  namesJsonLines.test(accept) &&
  quality(accept, jsonLines) > 0 &&
  quality(accept, jsonLines) >= quality(accept, json)
