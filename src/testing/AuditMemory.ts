import { Clock, Effect, Layer } from "effect"
import { Audit, type AuditEntry, type AuditQuery, type AuditRecord } from "../services/operations/Audit.ts"
import { MemoryStore } from "./MemoryStore.ts"

const matches = (entry: AuditEntry, query: AuditQuery): boolean =>
  (query.operator ?? entry.operator) === entry.operator &&
  (query.command ?? entry.command) === entry.command &&
  (query.subject ?? entry.subject) === entry.subject &&
  entry.at >= (query.from ?? Number.NEGATIVE_INFINITY) &&
  entry.at < (query.to ?? Number.POSITIVE_INFINITY) &&
  entry.id < (query.before ?? Number.POSITIVE_INFINITY)

/** The audit log in memory. A failed change leaves no entry, but is not rolled back otherwise. */
export const layer: Layer.Layer<Audit, never, MemoryStore> = Layer.effect(
  Audit,
  Effect.map(MemoryStore, ({ audit }) => {
    const append = (record: AuditRecord) =>
      Effect.map(Clock.currentTimeMillis, (at) => {
        audit.push({ ...record, id: audit.length + 1, at })
      })
    return Audit.of({
      recorded: (change, recordOf) => Effect.tap(change, (result) => append(recordOf(result))),
      append,
      list: (query) =>
        Effect.sync(() =>
          audit
            .filter((entry) => matches(entry, query))
            .reverse()
            .slice(0, query.limit)
        )
    })
  })
)
