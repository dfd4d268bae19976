import { Effect, Layer, Predicate, Schema } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import type { ListenerState } from "../../services/Readiness.ts"
import { type AdminOptions, json, serve } from "./Admin.ts"
import { format, type Metrics, merge } from "./exposition.ts"

/** The answer of a worker's private listener. */
export interface WorkerReply {
  readonly worker: number
  readonly status: number
  readonly body: unknown
}

/** The workers behind one port, as their supervisor sees them. */
export interface Workers {
  readonly count: number
  readonly serving: () => number
  readonly listener: () => ListenerState
  /** Asks each worker that serves. One that does not answer in time is left out. */
  readonly ask: (path: string) => Effect.Effect<ReadonlyArray<WorkerReply>>
  /** The metrics of each, of those that have ended, and of the supervisor. */
  readonly metrics: Effect.Effect<ReadonlyArray<Metrics>>
}

/** The part of a worker's `/readyz?full` that is read. */
const Health = Schema.Struct({ healthy: Schema.Boolean, checks: Schema.Record(Schema.String, Schema.String) })

const unanswered: typeof Health.Type = { healthy: false, checks: {} }

/** The result of each check: `ok` where it is that in all workers. */
const worst = (all: ReadonlyArray<typeof Health.Type>): Readonly<Record<string, string>> => {
  const checks: Record<string, string> = {}
  for (const health of all) {
    for (const [name, result] of Object.entries(health.checks)) {
      if (checks[name] === undefined || checks[name] === "ok") checks[name] = result
    }
  }
  return checks
}

/** Requests are taken while one worker serves: the others' connections go to it. */
const readiness = (workers: Workers) => {
  const listener = workers.listener()
  const serving = workers.serving()
  return { ready: listener === "serving" && serving > 0, listener, workers: { serving, of: workers.count } }
}

const health = (workers: Workers) =>
  Effect.map(workers.ask("/readyz?full"), (replies) => {
    const all = replies.map(({ body }) => (Schema.is(Health)(body) ? body : unanswered))
    const report = readiness(workers)
    const healthy = report.ready && all.length === workers.count && all.every((it) => it.healthy)
    return { ...report, healthy, checks: worst(all) }
  })

/** Every worker's view of every provider, because each has cool-downs of its own. */
const providersOf = ({ body, worker }: WorkerReply): ReadonlyArray<unknown> =>
  Predicate.hasProperty(body, "providers") && Array.isArray(body.providers)
    ? body.providers.map((provider) => ({ worker, ...provider }))
    : []

const routes = (workers: Workers) =>
  HttpRouter.use(
    Effect.fnUntraced(function* (router) {
      yield* router.add("GET", "/healthz", json(200, { status: "up" }))
      yield* router.add(
        "GET",
        "/readyz",
        Effect.flatMap(HttpServerRequest.ParsedSearchParams, (parameters) => {
          if ("full" in parameters) {
            return Effect.map(health(workers), (report) => json(report.healthy ? 200 : 503, report))
          }
          const report = readiness(workers)
          return Effect.succeed(json(report.ready ? 200 : 503, report))
        })
      )
      yield* router.add(
        "GET",
        "/providers",
        Effect.map(workers.ask("/providers"), (replies) => json(200, { providers: replies.flatMap(providersOf) }))
      )
      yield* router.add(
        "GET",
        "/status",
        // All of it is in the database, so that all workers answer the same.
        Effect.map(workers.ask("/status"), ([reply]) =>
          reply === undefined ? json(503, { error: "no_worker" }) : json(reply.status, reply.body)
        )
      )
      yield* router.add(
        "GET",
        "/metrics",
        Effect.map(workers.metrics, (all) =>
          HttpServerResponse.text(format(merge(all)), { contentType: "text/plain; version=0.0.4; charset=utf-8" })
        )
      )
    })
  )

/** The private listener of all workers together, in the process that supervises them. */
export const layer = (options: AdminOptions, workers: Workers) =>
  options.port === 0 ? Layer.empty : Layer.effectDiscard(Layer.build(serve(routes(workers), options)))
