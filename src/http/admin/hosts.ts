import { Clock, Effect, Metric } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { isTrustedHost } from "../../domain/RequestHost.ts"
import { forbiddenHosts } from "../metrics.ts"

/** At most one log line in this time, because callers choose how often they send such a host. */
const logIntervalMs = 60_000

/** The longest host in a log line, because callers choose it. */
const maxHostCharacters = 256

const forbidden = HttpServerResponse.jsonUnsafe(
  {
    error: "forbidden_host",
    message: "This listener does not answer to the name in Host. Use an address, or add the name to ADMIN_HOSTS."
  },
  { status: 403 }
)

/** Counts and logs a request, and answers 403. */
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
      `The private listener refused a request for the host ${JSON.stringify(host.slice(0, maxHostCharacters))}` +
        `${unlogged === 0 ? "" : `, and ${unlogged} others since the last such line`}. ` +
        "If it is a name of this listener, add it to ADMIN_HOSTS."
    )
    loggedAtMs = nowMs
    unlogged = 0
    return forbidden
  })
}

/**
 * Refuses requests for a host that a page of the internet may have (R72). Without it, DNS rebinding lets the pages that an
 * operator visits read metrics and the state of providers, because the listener has no password.
 */
export const trustedHosts = (names: ReadonlyArray<string>) =>
  HttpRouter.middleware(
    Effect.gen(function* () {
      // Exports the counter with 0 at start, because Prometheus would not see the first increase otherwise.
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
