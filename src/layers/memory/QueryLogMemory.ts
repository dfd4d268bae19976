import { Clock, Effect, Layer } from "effect"
import { QueryLog } from "../../services/QueryLog.ts"
import { MemoryStore } from "./MemoryStore.ts"

/** The log without a database. */
export const layer: Layer.Layer<QueryLog, never, MemoryStore> = Layer.effect(
  QueryLog,
  Effect.map(MemoryStore, (store) =>
    QueryLog.of({
      append: (records) =>
        Effect.map(Clock.currentTimeMillis, (at) => {
          store.queries.push(...records.map((record) => ({ ...record, holdId: undefined, at })))
        }),
      recent: (accountId, limit) =>
        Effect.sync(() =>
          store.queries
            .filter((query) => query.accountId === accountId)
            .reverse()
            .slice(0, limit)
            .map(({ holdId: _, ...query }) => query)
        )
    })
  )
)
