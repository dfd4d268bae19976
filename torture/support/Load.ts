import { Clock, Effect, Fiber, Random } from "effect"
import type { Answer, Client } from "./Client.ts"
import type { Replica } from "./Replica.ts"
import type { Customer } from "./Store.ts"

export interface LoadOptions {
  readonly client: Client
  readonly customers: ReadonlyArray<Customer>
  /** Replicas that currently accept requests. */
  readonly replicas: () => ReadonlyArray<Replica>
  /** Number of callers, each with one request at a time. */
  readonly callers: number
  /** Share of requests that are batches. */
  readonly batches: number
  readonly rowsOfBatch?: number
}

/** Pause of a caller after a refused connection. */
const pauseMs = 50

/** The engine's response: usually quick, sometimes a failure, rarely none. */
const manner = Effect.map(Random.next, (dice) => {
  if (dice < 0.05) return "fail"
  if (dice < 0.06) return "hang"
  return `wait${Math.floor(dice * 100)}`
})

let asked = 0

/** Returns a query that is unique in this process. */
export const uniqueQuery = Effect.map(manner, (how) => `torture ${++asked} ${how}`)

const pick = <A>(items: ReadonlyArray<A>): Effect.Effect<A | undefined> =>
  items.length === 0
    ? Effect.undefined
    : Effect.map(Random.nextIntBetween(0, items.length, { halfOpen: true }), (n) => items[n])

const onePause = Effect.sleep(pauseMs)

/** Sends requests of every kind until stopped, which returns all responses. */
export const start = Effect.fnUntraced(function* (options: LoadOptions) {
  const answers: Array<Answer> = []
  let stopped = false

  const once = Effect.gen(function* () {
    const replica = yield* pick(options.replicas())
    const customer = yield* pick(options.customers)
    if (replica === undefined || customer === undefined) return yield* onePause
    const asBatch = (yield* Random.next) < options.batches
    const answer = asBatch
      ? yield* options.client.batch(
          replica.url,
          customer.secret,
          yield* Effect.replicateEffect(uniqueQuery, options.rowsOfBatch ?? 50),
          (yield* Random.nextBoolean) ? "lines" : "whole"
        )
      : yield* options.client.search(replica.url, customer.secret, yield* uniqueQuery)
    answers.push(answer)
    if (answer.status === undefined || answer.status === 500 || answer.status === 429) yield* onePause
  })
  const caller = Effect.whileLoop({ while: () => !stopped, body: () => once, step: () => {} })
  const callers = yield* Effect.forkScoped(
    Effect.forEach(Array.from({ length: options.callers }), () => caller, { concurrency: "unbounded", discard: true })
  )

  return {
    /** Responses so far. */
    answers: answers as ReadonlyArray<Answer>,
    stop: Effect.suspend(() => {
      stopped = true
      return Effect.as(Fiber.join(callers), answers as ReadonlyArray<Answer>)
    })
  }
})

/** Allows for a database that has just returned. */
const patienceMs = 120_000

/** Milliseconds until a search succeeds again, polling continuously. Undefined if none does. */
export const recovery = Effect.fnUntraced(function* (
  options: Pick<LoadOptions, "client"> & { readonly replica: Replica; readonly customer: Customer },
  answers: Array<Answer>
) {
  const startedAt = yield* Clock.currentTimeMillis
  while ((yield* Clock.currentTimeMillis) - startedAt < patienceMs) {
    const answer = yield* options.client.search(options.replica.url, options.customer.secret, `probe ${++asked} wait0`)
    answers.push(answer)
    if (answer.status === 200) return (yield* Clock.currentTimeMillis) - startedAt
    yield* onePause
  }
  return undefined
})
