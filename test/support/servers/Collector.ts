import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { buffer } from "node:stream/consumers"
import { Effect } from "effect"
import { decodeLogs, decodeSpans, type OtlpLog, type OtlpSpan } from "../../../otel/viewer/Otlp.ts"

/** Everything that an OpenTelemetry collector received. */
export interface Collector {
  readonly url: string
  readonly spans: Array<OtlpSpan>
  readonly logs: Array<OtlpLog>
  /** Every body of any signal as text, to check for what must not be sent. */
  readonly bodies: Array<string>
  /** The header `x-key` by path. */
  readonly keys: Map<string, unknown>
}

const accept = (response: ServerResponse) => response.writeHead(200, { "content-type": "application/x-protobuf" }).end()

/** Accepts OTLP over HTTP as protobuf on a free loopback port until the scope closes. */
export const start = (respond: (response: ServerResponse) => void = accept) =>
  Effect.acquireRelease(
    Effect.callback<Collector & { readonly close: () => void }>((resume) => {
      const spans: Array<OtlpSpan> = []
      const logs: Array<OtlpLog> = []
      const bodies: Array<string> = []
      const keys = new Map<string, unknown>()
      const server = createServer(async (request, response) => {
        const body = await buffer(request)
        keys.set(request.url ?? "", request.headers["x-key"])
        bodies.push(body.toString("latin1"))
        if (request.url === "/v1/traces") spans.push(...decodeSpans(body))
        if (request.url === "/v1/logs") logs.push(...decodeLogs(body))
        respond(response)
      })
      const close = () => {
        server.closeAllConnections()
        server.close()
      }
      server.listen(0, "127.0.0.1", () => {
        // A listening TCP server's address is an AddressInfo.
        const { port } = server.address() as AddressInfo
        resume(Effect.succeed({ url: `http://127.0.0.1:${port}`, spans, logs, bodies, keys, close }))
      })
    }),
    ({ close }) => Effect.sync(close)
  )
