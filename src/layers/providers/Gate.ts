import { Clock, Effect, Metric, Schema } from "effect"
import type { Refusal } from "../../domain/providers/Refusal.ts"
import { Pacer } from "../../services/providers/Pacer.ts"
import type { CallLimits, Turn } from "../../services/providers/Turn.ts"
import { providerWait } from "../../services/telemetry/Metrics.ts"
import { CallQueue } from "./CallQueue.ts"

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

export interface Bounds {
  readonly concurrency?: number
  readonly requestsPerSecond?: number
}

/** A provider's call limits: `concurrency` in this process, and `requestsPerSecond` in all processes together. */
export interface Gate extends CallLimits {
  /** Runs a call in its turn. Refuses it as `busy`, without a wait if that is certain, if its turn comes too late. */
  readonly run: <A, E>(call: Effect.Effect<A, E>, turn: Turn) => Effect.Effect<A, E | Refusal>
}

export const make = (name: string, bounds: Bounds): Effect.Effect<Gate, never, Pacer> =>
  Effect.gen(function* () {
    const pacer = yield* Pacer
    const context = yield* Effect.context<never>()
    const { concurrency = defaultConcurrency, requestsPerSecond } = bounds
    const pace = requestsPerSecond === undefined ? undefined : { name, perSecond: requestsPerSecond, take: pacer.take }
    const queue = new CallQueue(concurrency, pace, context)
    const waitSeconds = providerWait.of(name)
    const measureWait = (startedAt: number) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => Metric.update(waitSeconds, (now - startedAt) / 1000))

    return {
      expectedWaitMs: (account, now) => queue.expectedWaitMs(account, now),
      run: <A, E>(call: Effect.Effect<A, E>, turn: Turn) =>
        Effect.flatMap(Clock.currentTimeMillis, (startedAt) =>
          queue.inTurn(
            turn,
            Effect.suspend((): Effect.Effect<A, E | Refusal> => {
              const refusal = turn.send()
              return refusal === undefined ? Effect.andThen(measureWait(startedAt), call) : Effect.fail(refusal)
            })
          )
        )
    }
  })
