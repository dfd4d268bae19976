/** The weight of a media type in an `Accept` header, 0 to 1. The most specific range decides (RFC 9110, 12.5.1). */
const quality = (accept: string, type: string): number => {
  const ranges = accept.split(",").map((range) => {
    const [name = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase())
    const q = parameters.find((parameter) => parameter.startsWith("q="))
    return { name, q: q === undefined ? 1 : Number(q.slice(2)) || 0 }
  })
  const group = `${type.split("/", 1).join("")}/*`
  const matches = [type, group, "*/*"].map((name) => ranges.find((range) => range.name === name))
  return matches.find((range) => range !== undefined)?.q ?? 0
}

/**
 * Decides between an event stream and JSON. Most clients list both types with one weight and get JSON, because it takes
 * one write. A client that accepts only events, or prefers them, gets a stream.
 */
export const wantsEvents = (accept: string | undefined): boolean =>
  accept !== undefined && quality(accept, "text/event-stream") > quality(accept, "application/json")
