import { Clock, Effect, Metric, Option, Schema, Semaphore } from "effect"
import { Refusal } from "../../domain/Refusal.ts"
import { providerWait } from "../../services/Metrics.ts"
import { Pacer } from "../../services/Pacer.ts"

const concurrencyRule = { message: "must be a whole number from 1 to 10000" }
const paceRule = { message: "must be a number from 0.001 to 10000" }

/** The options of every provider that is called over the network. */
export const options = {
  /** Calls in flight at once, in each process. */
  concurrency: Schema.optionalKey(
    Schema.Number.annotate(concurrencyRule).check(
      Schema.isInt(concurrencyRule),
      Schema.isBetween({ minimum: 1, maximum: 10_000 }, concurrencyRule)
    )
  ),
  /** Calls a second, of all processes together when they share a Redis. No limit when unset. */
  requestsPerSecond: Schema.optionalKey(
    Schema.Number.annotate(paceRule).check(Schema.isBetween({ minimum: 0.001, maximum: 10_000 }, paceRule))
  )
}

/** Far more than a well provider has in flight; a slow one must not take every socket and all memory. */
const defaultConcurrency = 256

/** The longest delay of a call behind its turn. A later one, as after a busy process, takes another turn. */
const maxLatenessMs = 150

/** Lets a call go to the provider when it is its turn, or refuses it as `busy` when that would take too long. */
export type Gate = <A, E>(call: Effect.Effect<A, E>, maxQueueMs: number) => Effect.Effect<A, E | Refusal>

const busy = (what: string) => new Refusal({ reason: "busy", message: `${what} set for it in the provider file` })

export const make = (
  name: string,
  bounds: { readonly concurrency?: number; readonly requestsPerSecond?: number }
): Effect.Effect<Gate, never, Pacer> =>
  Effect.gen(function* () {
    const pacer = yield* Pacer
    const concurrency = bounds.concurrency ?? defaultConcurrency
    const permits = yield* Semaphore.make(concurrency)
    const perSecond = bounds.requestsPerSecond

    const turn = Effect.fnUntraced(function* (deadline: number, perSecond: number) {
      while (true) {
        const startedAt = yield* Clock.currentTimeMillis
        const waitMs = yield* pacer.take({ name, perSecond, withinMs: deadline - startedAt })
        if (waitMs === undefined) return yield* busy(`there is no turn in time at the ${perSecond} requests a second`)
        if (waitMs > 0) yield* Effect.sleep(waitMs)
        // The pacer read its clock between the question and its answer.
        if ((yield* Clock.currentTimeMillis) - startedAt - waitMs <= maxLatenessMs) return
      }
    })

    const waited = providerWait.of(name)

    /** Waits for the turn that the pace leaves, with a permit in hand. */
    const paced = <A, E>(
      call: Effect.Effect<A, E>,
      startedAt: number,
      deadline: number
    ): Effect.Effect<A, E | Refusal> => {
      const begun = Clock.clockWith((clock) =>
        Effect.andThen(Metric.update(waited, (clock.currentTimeMillisUnsafe() - startedAt) / 1000), call)
      )
      return perSecond === undefined ? begun : Effect.andThen(turn(deadline, perSecond), begun)
    }

    const queued = <A, E>(call: Effect.Effect<A, E>, startedAt: number, withinMs: number) =>
      Effect.gen(function* () {
        // In a scope, so that a permit that arrives as the wait ends is released.
        const permit = yield* Effect.timeoutOption(Semaphore.takeScoped(permits, 1), withinMs)
        if (Option.isNone(permit)) return yield* busy(`it has all ${concurrency} calls in flight`)
        return yield* paced(call, startedAt, startedAt + withinMs)
      }).pipe(Effect.scoped)

    return (call, maxQueueMs) =>
      Effect.flatMap(Clock.currentTimeMillis, (startedAt) =>
        Effect.flatMap(
          Semaphore.withPermitsIfAvailable(permits, 1, paced(call, startedAt, startedAt + maxQueueMs)),
          Option.match({ onNone: () => queued(call, startedAt, maxQueueMs), onSome: Effect.succeed })
        )
      )
  })
