import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import type { Agent, buildConnector, Dispatcher } from "@effect/platform-node/Undici"
import { Effect, Layer } from "effect"
import * as Connection from "./Connection.ts"
import { maxHeadBytes, maxInformational } from "./Exchange.ts"

/** If the caller gives up earlier, the next caller uses the connection. */
const connectTimeoutMs = 10_000

const connector =
  (limits: Connection.ConnectionLimits, opening: Set<() => void>): buildConnector.connector =>
  ({ hostname, port, protocol, servername }, callback) => {
    const isSecure = protocol === "https:"
    const to = { host: hostname, port: Number(port) || (isSecure ? 443 : 80), isSecure, serverName: servername }
    const giveUp = Connection.open(to, limits, (error, socket) => {
      opening.delete(giveUp)
      if (socket === undefined) callback(error ?? new Error("no connection"), null)
      else callback(null, socket)
    })
    opening.add(giveUp)
  }

/** Undici would read informational responses without limit. */
const limitInformational: Dispatcher.DispatcherComposeInterceptor = (dispatch) => (options, handler) => {
  let informational = 0
  return dispatch(options, {
    onRequestStart: (controller, context) => handler.onRequestStart?.(controller, context),
    onRequestUpgrade: (...args) => handler.onRequestUpgrade?.(...args),
    onResponseStart: (controller, status, headers, message) => {
      if (status >= 200) handler.onResponseStart?.(controller, status, headers, message)
      else if (++informational > maxInformational) {
        controller.abort(new Error(`more than ${maxInformational} informational responses`))
      }
    },
    onResponseData: (controller, chunk) => handler.onResponseData?.(controller, chunk),
    onResponseEnd: (controller, trailers) => handler.onResponseEnd?.(controller, trailers),
    onResponseError: (controller, error) => handler.onResponseError?.(controller, error)
  })
}

/**
 * For servers that the operator configured. Callers set their own deadlines. HTTP/2 would escape these limits. Without
 * `keepAlive`, each request has a new connection.
 */
export const make = Effect.fnUntraced(function* ({
  keepAlive = true,
  maxReceivedBytes
}: {
  readonly maxReceivedBytes: number
  readonly keepAlive?: boolean
}) {
  const opening = new Set<() => void>()
  const options: Agent.Options = {
    connect: connector({ connectTimeoutMs, maxReceivedBytes }, opening),
    allowH2: false,
    maxHeaderSize: maxHeadBytes,
    ...(keepAlive ? {} : { pipelining: 0 })
  }
  const agent = yield* NodeHttpClient.makeDispatcherOptions(options)
  yield* Effect.addFinalizer(() => Effect.sync(() => opening.forEach((giveUp) => void giveUp())))
  return agent.compose(limitInformational)
})

export const layer = (limits: { readonly maxReceivedBytes: number }): Layer.Layer<NodeHttpClient.Dispatcher> =>
  Layer.effect(NodeHttpClient.Dispatcher, make(limits))
