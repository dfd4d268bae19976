import { randomUUID } from "node:crypto"
import { createServer, type Server, STATUS_CODES } from "node:http"
import type { Duplex } from "node:stream"
import { NodeHttpServer } from "@effect/platform-node"
import { type Duration, Layer } from "effect"
import { HttpRouter } from "effect/http"
import * as Routes from "./Routes.ts"

/** What a connection may take: sizes in bytes, times in milliseconds. */
const limits = {
  /** Request line and headers together. Generous, because an oversized `X-Request-Id` is replaced and not refused (R2). */
  maxHeaderBytes: 256 * 1024,
  /** For the headers of a request to arrive. */
  headersTimeoutMs: 10_000,
  /** For a whole request to arrive. */
  requestTimeoutMs: 30_000,
  /** For the next request on an idle connection: longer than the 60 s of common load balancers, which close first. */
  keepAliveTimeoutMs: 65_000
}

/** Answers what Node's own parser refuses: there is no request then, so the envelope is written by hand. */
const answerUnparsable = (error: NodeJS.ErrnoException, socket: Duplex): void => {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy()
    return
  }
  const id = randomUUID()
  const body = JSON.stringify({
    error: "invalid_request",
    message: "The request is not valid: it is no well-formed HTTP request",
    request_id: id,
    issues: [{ field: "", message: "it is no well-formed HTTP request" }]
  })
  socket.end(
    `HTTP/1.1 400 ${STATUS_CODES[400]}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n` +
      `x-request-id: ${id}\r\nconnection: close\r\n\r\n${body}`
  )
}

export const makeNodeServer = (): Server =>
  createServer({
    maxHeaderSize: limits.maxHeaderBytes,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs
  }).on("clientError", answerUnparsable)

/** The public listener. Requires the services; fails when the address cannot be bound. */
export const layer = (options: { readonly host: string; readonly port: number; readonly grace: Duration.Duration }) =>
  HttpRouter.serve(Routes.layer, {
    disableLogger: true,
    disableListenLog: true,
    routerConfig: Routes.routerConfig
  }).pipe(
    Layer.provide(
      NodeHttpServer.layer(makeNodeServer, {
        host: options.host,
        port: options.port,
        gracefulShutdownTimeout: options.grace
      })
    )
  )
