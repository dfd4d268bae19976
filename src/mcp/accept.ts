/** How much an `Accept` header wants a type, 0 to 1; the range that names it most closely decides (RFC 9110, 12.5.1). */
const quality = (accept: string, type: string): number => {
  const ranges = accept.split(",").map((range) => {
    const [name = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase())
    const q = parameters.find((parameter) => parameter.startsWith("q="))
    return { name, q: q === undefined ? 1 : Number(q.slice(2)) || 0 }
  })
  const group = `${type.split("/", 1).join("")}/*`
  const named = [type, group, "*/*"].map((name) => ranges.find((range) => range.name === name))
  return named.find((range) => range !== undefined)?.q ?? 0
}

/**
 * Whether the answer is an event stream. Clients list both types and are answered in JSON, which is one write and no
 * stream; events are for who takes nothing else, or wants them more.
 */
export const wantsEvents = (accept: string | undefined): boolean =>
  accept !== undefined && quality(accept, "text/event-stream") > quality(accept, "application/json")
