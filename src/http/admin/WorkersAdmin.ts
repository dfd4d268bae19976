import { Effect, Layer, Predicate, Schema } from "effect"
import type { ListenerState } from "../../services/operations/Readiness.ts"
import { type AdminOptions, json, routesOf, serve } from "./Admin.ts"
import { format, type Metrics, merge } from "./exposition.ts"

export interface WorkerReply {
  readonly worker: number
  readonly status: number
  readonly body: unknown
}

export interface Workers {
  readonly count: number
  readonly serving: () => number
  readonly listener: () => ListenerState
  /** Omits workers that do not respond in time. */
  readonly ask: (path: string) => Effect.Effect<ReadonlyArray<WorkerReply>>
  readonly metrics: Effect.Effect<ReadonlyArray<Metrics>>
}

const Health = Schema.Struct({ healthy: Schema.Boolean, checks: Schema.Record(Schema.String, Schema.String) })

const withoutReport: typeof Health.Type = { healthy: false, checks: {} }

const worstChecks = (all: ReadonlyArray<typeof Health.Type>): Readonly<Record<string, string>> => {
  const checks: Record<string, string> = {}
  for (const health of all) {
    for (const [name, result] of Object.entries(health.checks)) {
      if (checks[name] === undefined || checks[name] === "ok") checks[name] = result
    }
  }
  return checks
}

/** Ready while at least one worker serves: that worker also receives the connections of the others. */
const readiness = (workers: Workers) => {
  const listener = workers.listener()
  const serving = workers.serving()
  return { ready: listener === "serving" && serving > 0, listener, workers: { serving, of: workers.count } }
}

const health = (workers: Workers) =>
  Effect.map(workers.ask("/readyz?full"), (replies) => {
    const all = replies.map(({ body }) => (Schema.is(Health)(body) ? body : withoutReport))
    const report = readiness(workers)
    const healthy = report.ready && all.length === workers.count && all.every(({ healthy }) => healthy)
    return { ...report, healthy, checks: worstChecks(all) }
  })

/** Lists providers and rerankers per worker, because each worker has its own cool-downs. */
const membersOf =
  (name: "providers" | "rerankers") =>
  ({ body, worker }: WorkerReply): ReadonlyArray<unknown> => {
    const members: unknown = Predicate.hasProperty(body, name) ? body[name] : undefined
    return Array.isArray(members) ? members.map((member) => ({ worker, ...member })) : []
  }

const routes = (workers: Workers) =>
  routesOf({
    readiness: Effect.sync(() => readiness(workers)),
    health: health(workers),
    providers: Effect.map(workers.ask("/providers"), (replies) => ({
      providers: replies.flatMap(membersOf("providers")),
      rerankers: replies.flatMap(membersOf("rerankers"))
    })),
    // The status comes from the database, so any worker can report it.
    status: Effect.map(workers.ask("/status"), ([reply]) =>
      reply === undefined ? json(503, { error: "no_worker" }) : json(reply.status, reply.body)
    ),
    metrics: Effect.map(workers.metrics, (all) => format(merge(all)))
  })

export const layer = (options: AdminOptions, workers: Workers) =>
  options.port === 0 ? Layer.empty : Layer.effectDiscard(Layer.build(serve(routes(workers), options)))
