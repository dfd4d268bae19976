import { Clock, Effect, Metric } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { isTrustedHost } from "../../domain/RequestHost.ts"
import { counter } from "../../services/Instrument.ts"

const refusedHosts = counter("quarry.admin.refused_hosts", {
  description: "Requests to the private listener that were refused for their Host",
  unit: "{request}",
  labels: []
})

/** Callers choose how often they are refused, so that the log has one line for all refusals of this time. */
const logIntervalMs = 60_000

/** The longest host in a log line, because callers choose it. */
const maxHostCharacters = 256

const refusal = HttpServerResponse.jsonUnsafe(
  {
    error: "forbidden_host",
    message: "This listener does not answer to the name in Host. Use an address, or add the name to ADMIN_HOSTS."
  },
  { status: 403 }
)

/** Counts and logs a refusal. */
const makeRefuse = () => {
  let loggedAtMs = Number.NEGATIVE_INFINITY
  let unlogged = 0
  return Effect.fnUntraced(function* (host: string) {
    yield* Metric.update(refusedHosts.of(), 1)
    const nowMs = yield* Clock.currentTimeMillis
    if (nowMs - loggedAtMs < logIntervalMs) {
      unlogged++
      return refusal
    }
    yield* Effect.logWarning(
      `The private listener refused a request for the host ${JSON.stringify(host.slice(0, maxHostCharacters))}` +
        `${unlogged === 0 ? "" : `, and ${unlogged} others since the last such line`}. ` +
        "If it is a name of this listener, add it to ADMIN_HOSTS."
    )
    loggedAtMs = nowMs
    unlogged = 0
    return refusal
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
      yield* Metric.update(refusedHosts.of(), 0)
      const trusted = new Set(names.map((name) => name.toLowerCase()))
      const refuse = makeRefuse()
      return (app) =>
        Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers: { host } }) =>
          host === undefined || isTrustedHost(host, trusted) ? app : refuse(host)
        )
    }),
    { global: true }
  )
