import { Effect, Layer } from "effect"
import * as InMemory from "../../../src/testing/InMemory.ts"
import { MemoryStore } from "../../../src/testing/MemoryStore.ts"
import { Backdoor } from "./Backdoor.ts"

const backdoor = Layer.effect(
  Backdoor,
  Effect.map(MemoryStore, (store) =>
    Backdoor.of({
      expireHolds: (accountId) =>
        Effect.sync(() => {
          for (const stored of store.holds.values()) {
            if (stored.hold.accountId === accountId) stored.expiresAt = Number.NEGATIVE_INFINITY
          }
        }),
      deleteAccount: (accountId) => Effect.sync(() => store.accounts.delete(accountId)),
      damage: (accountId, what) =>
        Effect.sync(() => {
          const stored = store.accounts.get(accountId)
          if (stored === undefined) return
          if (what === "allowance") stored.allowance.used += 1
          if (what === "balance") stored.balance += 1
          if (what === "owed") stored.owed += 1
          if (what === "log") {
            const index = store.queries.findIndex((query) => query.accountId === accountId && query.credits > 0)
            store.queries.splice(index, 1)
          }
        })
    })
  )
)

/** All storage services on one memory store, with a backdoor. */
export const layer = Layer.provideMerge(backdoor, InMemory.storage)
