import { createServer, type IncomingMessage } from "node:http"
import { decodeSpans, type OtlpSpan } from "./Otlp.ts"
import { listPage, tracePage } from "./waterfall.ts"

/*
 * A collector for one developer: takes OTLP over HTTP on a port of the loopback, 4318 unless TRACES_PORT says another,
 * keeps the latest traces in memory and shows each as a timeline. `/batch/bat_…` finds the trace of a batch.
 */

const maxTraces = 1_000
const maxBodyBytes = 16 * 1024 * 1024

const traces = new Map<string, Array<OtlpSpan>>()

const keep = (span: OtlpSpan): void => {
  const known = traces.get(span.traceId)
  if (known !== undefined) known.push(span)
  else traces.set(span.traceId, [span])
  const [oldest] = traces.keys()
  if (traces.size > maxTraces && oldest !== undefined) traces.delete(oldest)
}

const ofBatch = (batchId: string): string | undefined =>
  [...traces].find(([, spans]) => spans.some(({ attributes }) => attributes["quarry.batch.id"] === batchId))?.[0]

const show = (path: string): string | undefined => {
  const [, kind, id = ""] = path.split("/")
  if (kind === "") return listPage(traces)
  const traceId = kind === "batch" ? ofBatch(id) : id
  const spans = traceId === undefined ? undefined : traces.get(traceId)
  return traceId === undefined || spans === undefined ? undefined : tracePage(traceId, spans)
}

/** Undefined when it is too large: a body that comes in chunks says nowhere how large it is. */
const bodyOf = async (request: IncomingMessage): Promise<Buffer | undefined> => {
  const chunks: Array<Buffer> = []
  let bytes = 0
  for await (const chunk of request) {
    bytes += chunk.length
    if (bytes > maxBodyBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** The status of what somebody sent. */
const take = async (request: IncomingMessage): Promise<number> => {
  try {
    const body = await bodyOf(request)
    if (body === undefined) return 413
    if (request.url === "/v1/traces") for (const span of decodeSpans(body)) keep(span)
    return 200
  } catch {
    // Not protobuf, or cut off.
    return 400
  }
}

const server = createServer(async (request, response) => {
  if (request.method === "POST") {
    const status = await take(request)
    // What is left of a body that was too large is not read.
    const headers = { "content-type": "application/x-protobuf", ...(status === 200 ? {} : { connection: "close" }) }
    return response.writeHead(status, headers).end()
  }
  const page = show(request.url ?? "/")
  return response
    .writeHead(page === undefined ? 404 : 200, { "content-type": "text/html; charset=utf-8" })
    .end(page ?? "There is no such trace.")
})

const port = Number(process.env.TRACES_PORT ?? 4318)
server.listen(port, "127.0.0.1", () => {
  const address = server.address()
  console.log(`Traces at http://127.0.0.1:${typeof address === "object" ? address?.port : port}/`)
})

/** Without a handler, a first process of a container ignores these signals. */
for (const signal of ["SIGTERM", "SIGINT"] as const) {
  process.on(signal, () => {
    server.close()
    server.closeAllConnections()
  })
}
