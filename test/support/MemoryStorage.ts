import { Effect, Layer } from "effect"
import * as Ids from "../../src/layers/Ids.ts"
import * as AccountsMemory from "../../src/layers/memory/AccountsMemory.ts"
import * as KeyStoreMemory from "../../src/layers/memory/KeyStoreMemory.ts"
import * as LedgerMemory from "../../src/layers/memory/LedgerMemory.ts"
import { MemoryStore } from "../../src/layers/memory/MemoryStore.ts"
import * as QueryLogMemory from "../../src/layers/memory/QueryLogMemory.ts"
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
          if (what === "log") {
            const index = store.queries.findIndex((query) => query.accountId === accountId && query.credits > 0)
            store.queries.splice(index, 1)
          }
        })
    })
  )
)

/** Every storage service over one memory store. */
export const layer = Layer.mergeAll(
  AccountsMemory.layer,
  KeyStoreMemory.layer,
  LedgerMemory.layer(),
  QueryLogMemory.layer,
  backdoor
).pipe(Layer.provideMerge(Layer.merge(MemoryStore.layer, Ids.layer)))
