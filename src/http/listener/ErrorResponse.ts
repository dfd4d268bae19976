import { STATUS_CODES } from "node:http"
import type { Duplex } from "node:stream"
import { Effect } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { CurrentRequest, makeRequestState } from "../../domain/requests/CurrentRequest.ts"
import { Ids } from "../../services/Ids.ts"
import { Deployment } from "../../services/operations/Deployment.ts"
import { type ApiError, encodeApiError } from "../errors.ts"
import { requestIdFrom } from "../requestState.ts"
import { countErrorResponse } from "../responses/metrics.ts"
import { securityHeadersFor } from "../responses/securityHeaders.ts"

/** Half-closes, then destroys after `lingerMs`. An immediate reset could overtake the response. */
export const closeSocket = Effect.fnUntraced(function* (socket: Duplex, lingerMs: number) {
  if (!socket.writableEnded) socket.end()
  yield* Effect.sleep(lingerMs)
  socket.destroy()
})

export const make = Effect.gen(function* () {
  const ids = yield* Ids
  const security = securityHeadersFor((yield* Deployment).origin).private

  const responseTo = Effect.fnUntraced(function* (error: ApiError, requestId: unknown) {
    const id = yield* requestIdFrom(requestId, ids.requestId)
    const { body, status } = yield* Effect.provideService(encodeApiError(error), CurrentRequest, makeRequestState(id))
    yield* Effect.logInfo(`Request rejected: ${error.message}`).pipe(Effect.annotateLogs({ request_id: id, status }))
    yield* countErrorResponse(status)
    return { id, status, body }
  })

  const app = (error: ApiError, headers: Readonly<Record<string, string>>) =>
    Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const { body, id, status } = yield* responseTo(error, request.headers["x-request-id"])
      return HttpServerResponse.jsonUnsafe(body, { status, headers: { ...security, ...headers, "x-request-id": id } })
    })

  const onSocket = Effect.fnUntraced(function* (
    socket: Duplex,
    lingerMs: number,
    error: ApiError,
    options: { readonly requestId?: unknown; readonly withoutBody?: boolean }
  ) {
    const { body, id, status } = yield* responseTo(error, options.requestId)
    const text = JSON.stringify(body)
    const head = headOf(status, { ...security, "x-request-id": id }, Buffer.byteLength(text))
    socket.write(options.withoutBody === true ? head : head + text)
    yield* closeSocket(socket, lingerMs)
  })

  return { app, onSocket }
})

const headOf = (status: number, headers: Readonly<Record<string, string>>, contentLength: number): string =>
  [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    "content-type: application/json",
    `content-length: ${contentLength}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    "connection: close",
    "",
    ""
  ].join("\r\n")
