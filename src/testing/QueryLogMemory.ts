import { DateTime, Effect, Layer } from "effect"
import type { HistoryFilter, Position } from "../domain/log/QueryHistory.ts"
import { maxRows, tooManyRows, total, type UsageBucket, type UsageQuery } from "../domain/log/Usage.ts"
import { namesOf, type SearchOptions } from "../domain/options/SearchOptions.ts"
import { pageTarget } from "../domain/search/Target.ts"
import { QueryLog, type StoredLogEntry } from "../services/charging/QueryLog.ts"
import { atNow, MemoryStore } from "./MemoryStore.ts"

export const layer: Layer.Layer<QueryLog, never, MemoryStore> = Layer.effect(
  QueryLog,
  Effect.map(MemoryStore, (store) => {
    const entriesOf = (accountId: string) =>
      store.queries
        .map(({ holdId: _, ...entry }, index) => ({
          entry,
          position: { atMicros: BigInt(entry.at) * 1000n, ordinal: BigInt(index) }
        }))
        .filter(({ entry }) => entry.accountId === accountId)
        .sort((a, b) => compare(b.position, a.position))

    return QueryLog.of({
      append: (entries) =>
        atNow((at) => {
          store.queries.push(...entries.map((entry) => ({ ...entry, holdId: undefined, at })))
        }),
      recent: (accountId, limit) =>
        Effect.sync(() =>
          entriesOf(accountId)
            .slice(0, limit)
            .map(({ entry }) => entry)
        ),
      history: (accountId, { after, filter, limit }) =>
        Effect.sync(() => {
          const matches = entriesOf(accountId).filter(
            ({ entry, position }) => passes(entry, filter) && (after === undefined || compare(position, after) < 0)
          )
          const page = matches.slice(0, limit)
          return {
            entries: page.map(({ entry }) => entry),
            next: matches.length > limit ? page.at(-1)?.position : undefined
          }
        }),
      usage: Effect.fnUntraced(function* (accountId, query) {
        const entries = entriesOf(accountId).map(({ entry }) => entry)
        const buckets = count(
          entries.filter(({ at }) => at >= query.from && at < query.to),
          query
        )
        return buckets.length > maxRows ? yield* tooManyRows : buckets
      }),
      erase: (accountId) =>
        Effect.sync(() => {
          for (const [index, entry] of store.queries.entries()) {
            if (entry.accountId !== accountId) continue
            const { page } = entry
            store.queries[index] = {
              ...entry,
              request: { ...entry.request, query: "", source: "", options: undefined },
              page: page === undefined ? undefined : { ...page, host: "" }
            }
          }
        })
    })
  })
)

const compare = (a: Position, b: Position): number =>
  a.atMicros === b.atMicros ? Number(a.ordinal - b.ordinal) : a.atMicros < b.atMicros ? -1 : 1

const domainsOf = ({ excludeDomains = [], includeDomains = [] }: SearchOptions) => [
  ...includeDomains,
  ...excludeDomains
]

const passes = (entry: StoredLogEntry, filter: HistoryFilter): boolean =>
  passesIds(entry, filter) && passesRequest(entry, filter)

const passesIds = ({ batchId, id, keyId, requestId }: StoredLogEntry, filter: HistoryFilter): boolean =>
  (filter.requestId ?? requestId) === requestId &&
  (filter.id ?? id) === id &&
  (filter.keyId ?? keyId) === keyId &&
  (filter.batchId ?? batchId) === batchId

const passesRequest = ({ at, durationMs, outcome, request }: StoredLogEntry, filter: HistoryFilter): boolean =>
  (filter.target ?? request.target) === request.target &&
  (filter.kind === undefined || (filter.kind === "page") === (request.target === pageTarget)) &&
  Math.round(durationMs) >= (filter.minDurationMs ?? 0) &&
  (filter.outcome ?? outcome) === outcome &&
  (filter.source ?? request.source) === request.source &&
  request.query.toLowerCase().includes((filter.text ?? "").toLowerCase()) &&
  (filter.option === undefined || namesOf(request.options ?? {}).includes(filter.option)) &&
  (filter.domain === undefined || domainsOf(request.options ?? {}).includes(filter.domain)) &&
  at >= (filter.from ?? Number.NEGATIVE_INFINITY) &&
  at < (filter.to ?? Number.POSITIVE_INFINITY)

const count = (entries: ReadonlyArray<StoredLogEntry>, query: UsageQuery): ReadonlyArray<UsageBucket> => {
  const groupOf = (entry: StoredLogEntry) => {
    if (query.groupBy === "target") return entry.request.target
    if (query.groupBy === "key") return entry.keyId
    // The store does not know people's addresses.
    return query.groupBy === "member" ? entry.personId : undefined
  }
  const buckets = new Map<string, UsageBucket>()
  for (const entry of entries) {
    const start = DateTime.toEpochMillis(DateTime.startOf(DateTime.makeUnsafe(entry.at), query.granularity))
    const group = groupOf(entry)
    const outcomes = { ok: 0, upstream_error: 0, upstream_timeout: 0, page_unreadable: 0, [entry.outcome]: 1 }
    const one = { searches: 1, credits: entry.credits, outcomes }
    const name = `${start} ${group}`
    buckets.set(name, { start, group, ...total([buckets.get(name) ?? total([]), one]) })
  }
  // Sorts entries without a key last, like nulls in the database.
  const order = (group: string | undefined) => (group === undefined ? "~" : group)
  return [...buckets.values()].sort((a, b) => a.start - b.start || (order(a.group) < order(b.group) ? -1 : 1))
}
