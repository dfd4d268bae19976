import { Clock, Effect } from "effect"
import type { BoundedStore } from "./BoundedStore.ts"

/** Maximum time that an expired value stays in memory. */
const sweepDelayMs = 60_000

/**
 * Returns an effect to run after adding a value. Its fiber ends once the store is empty: an endless loop would run for
 * every minute when a test advances its clock by years.
 */
export const makeSweeping = Effect.fnUntraced(function* <V>(store: BoundedStore<V>) {
  const scope = yield* Effect.scope
  let sweeping = false

  const sweep = Effect.gen(function* () {
    while (store.count > 0) {
      yield* Effect.sleep(sweepDelayMs)
      store.sweep(yield* Clock.currentTimeMillis)
    }
    sweeping = false
  })

  return Effect.suspend(() => {
    if (sweeping || store.count === 0) return Effect.void
    sweeping = true
    return Effect.asVoid(Effect.forkIn(sweep, scope))
  })
})
