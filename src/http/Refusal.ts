import { STATUS_CODES } from "node:http"
import type { Duplex } from "node:stream"
import { Effect } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { Deployment } from "../services/Deployment.ts"
import { Ids } from "../services/Ids.ts"
import { CurrentRequest, make as makeState, requestIdFrom } from "./CurrentRequest.ts"
import { type Undeclared, undeclared } from "./errors.ts"
import { countRefused } from "./metrics.ts"
import { securityHeadersFor } from "./securityHeaders.ts"

/** Closes a connection, and destroys it `lingerMs` later: at once, a reset could overtake the answer. */
export const closeSocket = Effect.fnUntraced(function* (socket: Duplex, lingerMs: number) {
  if (!socket.writableEnded) socket.end()
  yield* Effect.sleep(lingerMs)
  socket.destroy()
})

/** Refusals of what never reaches the routes: with the envelope and an id, logged and counted as any other answer. */
export const make = Effect.gen(function* () {
  const ids = yield* Ids
  const security = securityHeadersFor((yield* Deployment).origin).private

  const refusal = Effect.fnUntraced(function* (error: Undeclared, sentId: unknown) {
    const id = yield* requestIdFrom(sentId, ids.requestId)
    const { body, status } = yield* Effect.provideService(undeclared(error), CurrentRequest, makeState(id))
    yield* Effect.logInfo(`Refused a request: ${error.message}`).pipe(Effect.annotateLogs({ request_id: id, status }))
    yield* countRefused(status)
    return { id, status, body }
  })

  /** Answers every request with `error`. */
  const app = (error: Undeclared, headers: Readonly<Record<string, string>>) =>
    Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const { body, id, status } = yield* refusal(error, request.headers["x-request-id"])
      return HttpServerResponse.jsonUnsafe(body, { status, headers: { ...security, ...headers, "x-request-id": id } })
    })

  /** Answers on a bare socket, and closes it. */
  const onSocket = Effect.fnUntraced(function* (socket: Duplex, lingerMs: number, error: Undeclared, sentId: unknown) {
    const { body, id, status } = yield* refusal(error, sentId)
    socket.write(toMessage(status, { ...security, "x-request-id": id }, JSON.stringify(body)))
    yield* closeSocket(socket, lingerMs)
  })

  return { app, onSocket }
})

const toMessage = (status: number, headers: Readonly<Record<string, string>>, body: string): string =>
  [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(body)}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    "connection: close",
    "",
    body
  ].join("\r\n")
