import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import { intervalMs, maxLatenessMs, Pacer } from "../../../../src/services/providers/Pacer.ts"

/** What every Pacer promises. `elapse` lets time pass for its store, whose time is the test's clock or the real one. */
export const pacerConformance = (
  name: string,
  store: {
    readonly layer: Layer.Layer<Pacer>
    readonly elapse: (ms: number) => Effect.Effect<void>
    readonly time: "test" | "real"
  }
): void => {
  let names = 0
  const fresh = (perSecond: number, withinMs = 60_000) => ({ name: `pace${++names}`, perSecond, withinMs })

  /** Compares waits with what is due, counted from now. Real time that passes meanwhile makes a wait shorter. */
  const makeIsAbout = () => {
    const startedAt = performance.now()
    return (actual: number | undefined, dueMs: number) => {
      const passedMs = store.time === "test" ? 0 : Math.ceil(performance.now() - startedAt) + 1
      assert.isDefined(actual)
      assert.isAtMost(actual ?? 0, dueMs)
      assert.isAtLeast(actual ?? 0, Math.max(0, dueMs - passedMs))
    }
  }

  describe(name, () => {
    it("no second holds more turns than it may, though one is used as late as allowed", () => {
      for (const perSecond of [0.5, 1, 1.5, 2, 5, 20, 50]) {
        // From a late turn to the turn after as many as a second may hold. Below one a second, the pace has one turn.
        const turns = Math.max(1, Math.floor(perSecond))
        const spanMs = turns * intervalMs(perSecond) - maxLatenessMs(perSecond)
        assert.isAtLeast(spanMs, (turns * 1_000) / perSecond - 1e-9, `${perSecond}`)
      }
    })

    it("R77: 50 turns at one a second fit in the 60 seconds of a batch, with room for the last call", () => {
      assert.isAtMost(49 * intervalMs(1), 55_000)
    })

    layer(store.layer, { excludeTestServices: store.time === "real" })("on one store", (it) => {
      it.effect("the first turn is at once, those after it come evenly spaced", () =>
        Effect.gen(function* () {
          const { take } = yield* Pacer
          const isAbout = makeIsAbout()
          const pace = fresh(5)
          for (const expected of [0, 250, 500, 750, 1_000]) isAbout(yield* take(pace), expected)
        })
      )

      it.effect("a turn that comes too late is not taken", () =>
        Effect.gen(function* () {
          const { take } = yield* Pacer
          const isAbout = makeIsAbout()
          const pace = fresh(1)
          isAbout(yield* take(pace), 0)
          for (const withinMs of [0, 500, 900]) assert.isUndefined(yield* take({ ...pace, withinMs }))
          isAbout(yield* take(pace), 1_100)
        })
      )

      it.effect("names do not wait for each other", () =>
        Effect.gen(function* () {
          const { take } = yield* Pacer
          const isAbout = makeIsAbout()
          isAbout(yield* take(fresh(0.1)), 0)
          isAbout(yield* take(fresh(0.1)), 0)
        })
      )

      it.effect("turns that nobody took are not saved up", () =>
        Effect.gen(function* () {
          const { take } = yield* Pacer
          const isAbout = makeIsAbout()
          const pace = fresh(10)
          isAbout(yield* take(pace), 0)
          yield* store.elapse(1_000)
          const isAboutLater = makeIsAbout()
          isAboutLater(yield* take(pace), 0)
          isAboutLater(yield* take(pace), 125)
        })
      )
    })
  })
}
