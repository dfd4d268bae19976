import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { type } from "../../../src/layers/providers/Index.ts"
import { DocumentIndex } from "../../../src/services/DocumentIndex.ts"
import { searchRequest } from "../../support/requests.ts"

describe("the built-in index as a provider", () => {
  it.effect("a statement that takes longer than five seconds is interrupted and a refusal", () =>
    Effect.gen(function* () {
      let interrupted = false
      const index = Layer.mock(DocumentIndex, {
        search: () => Effect.onInterrupt(Effect.never, () => Effect.sync(() => (interrupted = true)))
      })
      const engines = yield* type.make("own", {}).pipe(Effect.provide(index), Effect.orDie)
      const searching = yield* Effect.forkChild(Effect.flip(engines(undefined).search(searchRequest())))
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual((yield* Fiber.join(searching)).reason, "timeout")
      assert.isTrue(interrupted)
    })
  )
})
