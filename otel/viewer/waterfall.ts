import type { Attributes, OtlpSpan } from "./Otlp.ts"

const escapes: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" }

/** Text for HTML. What is shown came over the network. */
const escaped = (text: unknown): string => String(text).replace(/[&<>"]/g, (sign) => escapes[sign] ?? "")

const milliseconds = (nanos: bigint): string => `${(Number(nanos) / 1e6).toFixed(2)} ms`

interface Node {
  readonly span: OtlpSpan
  readonly depth: number
}

/** The spans of a trace, each followed by those below it. What has no parent here stands at the top. */
const ordered = (spans: ReadonlyArray<OtlpSpan>): ReadonlyArray<Node> => {
  const byStart = spans.toSorted((a, b) => Number(a.startNanos - b.startNanos))
  const ids = new Set(spans.map(({ spanId }) => spanId))
  const below = Map.groupBy(byStart, ({ parentSpanId }) => (ids.has(parentSpanId) ? parentSpanId : ""))
  const walk = (parent: string, depth: number): ReadonlyArray<Node> =>
    (below.get(parent) ?? []).flatMap((span) => [{ span, depth }, ...walk(span.spanId, depth + 1)])
  return walk("", 0)
}

const table = (attributes: Attributes): string =>
  Object.entries(attributes)
    .map(([name, value]) => `<tr><th>${escaped(name)}</th><td>${escaped(value)}</td></tr>`)
    .join("")

/** What is read first: of a row its place and end, of an attempt who was asked and what came of it. */
const summary = ({ attributes, name }: OtlpSpan): string => {
  const told = ["row.index", "target", "provider", "engine", "refusal", "outcome"].flatMap((key) =>
    attributes[`quarry.${key}`] === undefined ? [] : [String(attributes[`quarry.${key}`])]
  )
  return [name, ...told].join(" · ")
}

const details = (span: OtlpSpan): string => {
  const events = span.events.map(
    (event) => `<tr><th>event</th><td>${escaped(event.name)}</td></tr>${table(event.attributes)}`
  )
  const links = span.links.map(
    (link) => `<tr><th>link</th><td><a href="/trace/${escaped(link.traceId)}">${escaped(link.traceId)}</a></td></tr>`
  )
  return `<table><tr><th>span</th><td>${escaped(span.spanId)}</td></tr>${table(span.attributes)}${events.join("")}${links.join("")}</table>`
}

const bar = ({ depth, span }: Node, from: bigint, total: number): string => {
  const percent = (nanos: bigint) => ((Number(nanos) / total) * 100).toFixed(3)
  const kind = span.status === 2 ? "bad" : span.attributes["quarry.cached"] === true ? "kept" : "good"
  return `<details><summary><span class="name" style="padding-left:${depth * 14}px">${escaped(summary(span))}</span>
<span class="lane"><i class="${kind}" style="left:${percent(span.startNanos - from)}%;width:${percent(span.endNanos - span.startNanos)}%"></i></span>
<span class="took">${milliseconds(span.endNanos - span.startNanos)}</span></summary>${details(span)}</details>`
}

const page = (
  title: string,
  body: string
): string => `<!doctype html><meta charset="utf-8"><title>${escaped(title)}</title><style>
body{font:13px system-ui;margin:24px;color:#1a1f24}h1{font-size:17px}summary{display:flex;gap:10px;list-style:none;cursor:pointer}
details:hover{background:#f2f5f8}.name{flex:none;box-sizing:border-box;width:430px;overflow:hidden;white-space:nowrap;text-overflow:ellipsis}
.lane{flex:1;position:relative;background:#f2f5f8}.took{width:90px;text-align:right;font-variant-numeric:tabular-nums}
i{position:absolute;top:2px;bottom:2px;min-width:2px;border-radius:2px}.good{background:#3b7dd8}.kept{background:#8fb996}.bad{background:#d64545}
table{margin:4px 0 10px 24px;border-spacing:0}th{text-align:left;font-weight:500;padding-right:20px;color:#5b6670}
</style><h1>${escaped(title)}</h1>${body}`

/** One trace as a timeline: blue ran, green was kept from before, red failed. */
export const tracePage = (traceId: string, spans: ReadonlyArray<OtlpSpan>): string => {
  const nodes = ordered(spans)
  const [from = 0n] = spans.map(({ startNanos }) => startNanos).toSorted((a, b) => Number(a - b))
  const total = Math.max(1, ...spans.map(({ endNanos }) => Number(endNanos - from)))
  return page(`Trace ${traceId}`, nodes.map((node) => bar(node, from, total)).join("\n"))
}

/** The traces that are kept, the latest first. */
export const listPage = (traces: ReadonlyMap<string, ReadonlyArray<OtlpSpan>>): string => {
  const rows = [...traces].reverse().map(([traceId, spans]) => {
    const top = ordered(spans)[0]?.span
    const batch = spans.find(({ attributes }) => attributes["quarry.batch.id"] !== undefined)
    const took = top === undefined ? "" : milliseconds(top.endNanos - top.startNanos)
    const name = escaped(top?.name ?? "")
    const id = escaped(batch?.attributes["quarry.batch.id"] ?? "")
    return `<tr><td><a href="/trace/${escaped(traceId)}">${escaped(traceId)}</a></td><td>${name}</td><td>${took}</td><td>${id}</td></tr>`
  })
  return page("Traces", `<table>${rows.join("")}</table>`)
}
