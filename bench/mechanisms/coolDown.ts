import { Context, Effect, Layer } from "effect"
import { CircuitBreaker } from "effect/persistence"
import * as CoolDown from "../../src/domain/providers/CoolDown.ts"
import { Refusal } from "../../src/domain/providers/Refusal.ts"
import { compare } from "./Comparison.ts"

/* Calls of a provider whose circuit breaker stays closed, because an open one saves the call on both sides. */

const many = 1_000_000_000
const policy: CoolDown.Policy = { unreachable: { refusals: many, baseMs: 1_000, maxMs: 1_000, lastResort: true } }
const refusal = new Refusal({ reason: "unreachable", message: "connection refused" })

const answered = Effect.succeed("rows")
const refused = Effect.fail(refusal)

/** Keeps the state as `ProviderMonitor` does. */
const ours = () => {
  let state = CoolDown.closed
  return (call: Effect.Effect<string, Refusal>) =>
    Effect.clockWith((clock) => {
      if (!CoolDown.admits(state, clock.currentTimeMillisUnsafe())) return Effect.fail(refusal)
      return Effect.matchEffect(call, {
        onSuccess: (rows) => {
          state = CoolDown.closed
          return Effect.succeed(rows)
        },
        onFailure: (error) => {
          state = CoolDown.recordRefusal(state, policy, error, clock.currentTimeMillisUnsafe())
          return Effect.fail(error)
        }
      })
    })
}

const library = Effect.gen(function* () {
  const options = { tripPolicy: CircuitBreaker.consecutive(many), openDuration: "1 second" } as const
  const layer = Layer.provide(CircuitBreaker.layer(options), CircuitBreaker.layerStoreMemory())
  const breaker = Context.get(yield* Layer.build(layer), CircuitBreaker.CircuitBreaker)
  return (call: Effect.Effect<string, Refusal>) => breaker.execute(call, { key: "provider" })
})

export const comparisons = Effect.gen(function* () {
  const [own, breaker] = [ours(), yield* library]
  return [
    compare("a circuit breaker around a call", own(answered), breaker(answered)),
    compare("a circuit breaker around a refused call", Effect.exit(own(refused)), Effect.exit(breaker(refused)))
  ]
})
