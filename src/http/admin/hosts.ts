import { Clock, Effect, Metric } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { isTrustedHost } from "../../domain/net/RequestHost.ts"
import { forbiddenHosts } from "../responses/metrics.ts"

/** Limits log lines, because callers control how often they send a forbidden host. */
const logIntervalMs = 60_000

const maxHostCharacters = 256

const forbidden = HttpServerResponse.jsonUnsafe(
  {
    error: "forbidden_host",
    message: "This listener does not accept the hostname in Host. Use an IP address, or add the name to ADMIN_HOSTS."
  },
  { status: 403 }
)

const makeForbid = () => {
  let loggedAtMs = Number.NEGATIVE_INFINITY
  let unlogged = 0
  return Effect.fnUntraced(function* (host: string) {
    yield* Metric.update(forbiddenHosts.of(), 1)
    const nowMs = yield* Clock.currentTimeMillis
    if (nowMs - loggedAtMs < logIntervalMs) {
      unlogged++
      return forbidden
    }
    yield* Effect.logWarning(
      `The private listener rejected a request for host ${JSON.stringify(host.slice(0, maxHostCharacters))}` +
        `${unlogged === 0 ? "" : `, and ${unlogged} others since the last such message`}. ` +
        "If this listener should accept the host, add it to ADMIN_HOSTS."
    )
    loggedAtMs = nowMs
    unlogged = 0
    return forbidden
  })
}

/** Without this check, DNS rebinding would let web pages read this listener, which has no password (R72). */
export const trustedHosts = (names: ReadonlyArray<string>) =>
  HttpRouter.middleware(
    Effect.gen(function* () {
      // Starts at 0, because Prometheus would miss the first increase otherwise.
      yield* Metric.update(forbiddenHosts.of(), 0)
      const trusted = new Set(names.map((name) => name.toLowerCase()))
      const forbid = makeForbid()
      return (app) =>
        Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers: { host } }) =>
          host === undefined || isTrustedHost(host, trusted) ? app : forbid(host)
        )
    }),
    { global: true }
  )
