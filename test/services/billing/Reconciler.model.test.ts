import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { runSequence, Sequence, withProvider } from "../../support/accounts/BillingModel.ts"
import * as MemoryStorage from "../../support/stores/MemoryStorage.ts"
import { wholeStackRuns } from "../../support/wholeStackRuns.ts"

describe("Reconciler", () => {
  it.effect.prop(
    "I1, I2, R37, R38, R40, R41: after any sequence and one sweep the books say what the provider says",
    { sequence: Sequence },
    ({ sequence }) =>
      withProvider(runSequence(sequence, { verifiesEachStep: true })).pipe(
        Effect.provide(MemoryStorage.layer, { local: true })
      ),
    { timeout: 600_000, arbitrary: { runs: wholeStackRuns } }
  )
})
