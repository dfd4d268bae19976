import { Clock, Effect, Metric, Option, Schema, Semaphore } from "effect"
import { Refusal } from "../../domain/providers/Refusal.ts"
import { Pacer } from "../../services/providers/Pacer.ts"
import { providerWait } from "../../services/telemetry/Metrics.ts"

const concurrencyRule = { message: "must be a whole number from 1 to 10000" }
const paceRule = { message: "must be a number from 0.001 to 10000" }

export const options = {
  concurrency: Schema.optionalKey(
    Schema.Number.annotate(concurrencyRule).check(
      Schema.isInt(concurrencyRule),
      Schema.isBetween({ minimum: 1, maximum: 10_000 }, concurrencyRule)
    )
  ),
  /** Calls per second, shared by all processes on the same Redis. Unlimited if unset. */
  requestsPerSecond: Schema.optionalKey(
    Schema.Number.annotate(paceRule).check(Schema.isBetween({ minimum: 0.001, maximum: 10_000 }, paceRule))
  )
}

/** More than a healthy provider needs, and few enough that a slow one cannot use up sockets and memory. */
const defaultConcurrency = 256

/** Maximum delay behind a reserved slot. A later call reserves a new slot. */
const maxLatenessMs = 150

/** Refuses a call as `busy` if it would wait longer than `maxQueueMs`. */
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

    const awaitSlot = Effect.fnUntraced(function* (deadline: number, perSecond: number) {
      while (true) {
        const startedAt = yield* Clock.currentTimeMillis
        const waitMs = yield* pacer.take({ name, perSecond, withinMs: deadline - startedAt })
        if (waitMs === undefined)
          return yield* busy(`no slot is free in time within the ${perSecond} requests per second`)
        if (waitMs > 0) yield* Effect.sleep(waitMs)
        // Includes the time that the pacer, which may be Redis, took to respond.
        if ((yield* Clock.currentTimeMillis) - startedAt - waitMs <= maxLatenessMs) return
      }
    })

    const waitSeconds = providerWait.of(name)

    const paced = <A, E>(
      call: Effect.Effect<A, E>,
      startedAt: number,
      deadline: number
    ): Effect.Effect<A, E | Refusal> => {
      const measured = Clock.clockWith((clock) =>
        Effect.andThen(Metric.update(waitSeconds, (clock.currentTimeMillisUnsafe() - startedAt) / 1000), call)
      )
      return perSecond === undefined ? measured : Effect.andThen(awaitSlot(deadline, perSecond), measured)
    }

    const queued = <A, E>(call: Effect.Effect<A, E>, startedAt: number, withinMs: number) =>
      Effect.gen(function* () {
        // Scoped, so that a permit granted just as the wait times out is released.
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
