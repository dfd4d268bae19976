import type { MemoryStore } from "../../src/testing/MemoryStore.ts"

type Memory = MemoryStore["Service"]

/** Copies the objects in a map. Restores them into the same objects, because entries of the books refer to them. */
const keepMap = <K, V extends object>(map: Map<K, V>): (() => void) => {
  const kept = Array.from(map, ([key, value]) => [key, value, { ...value }] as const)
  return () => {
    map.clear()
    for (const [key, value, copy] of kept) {
      for (const name of Object.keys(value)) if (!(name in copy)) Reflect.deleteProperty(value, name)
      map.set(key, Object.assign(value, copy))
    }
  }
}

const keepTexts = <K, V>(map: Map<K, V>): (() => void) => {
  const kept = [...map]
  return () => {
    map.clear()
    for (const [key, value] of kept) map.set(key, value)
  }
}

const keepLength = (list: Array<unknown>): (() => void) => {
  const { length } = list
  return () => {
    list.length = length
  }
}

/** Drops events written since the snapshot, and reuses their numbers. */
const keepEvents = (events: Memory["events"]): (() => void) => {
  const { causes, count, deliveries, endpoints, paused, settings } = events
  const restore = [keepMap(endpoints), keepTexts(settings), keepTexts(paused)]
  const dropped = [...events.dropped]
  const kept = deliveries.map((delivery) => [delivery, { ...delivery }] as const)
  const keptCauses = [...causes]
  return () => {
    for (const step of restore) step()
    events.deliveries = kept.map(([delivery, copy]) => Object.assign(delivery, copy))
    causes.clear()
    for (const cause of keptCauses) causes.add(cause)
    events.count = count
    events.dropped = dropped
  }
}

/**
 * Saves the contents of a memory store, and returns a function that restores them: later writes are lost, as in a
 * database that acknowledges writes before they are on disk.
 */
export const snapshot = (memory: Memory): (() => void) => {
  const { accounts, allowances, billing, entries, holds, keys, queries, settlements, subscribers, uses } = memory
  const { bounds, events, spending } = memory
  const restore = [
    keepMap(allowances),
    keepMap(accounts),
    keepMap(holds),
    keepMap(uses),
    keepMap(keys),
    keepTexts(bounds),
    keepMap(spending),
    keepEvents(events),
    keepTexts(settlements),
    keepTexts(subscribers),
    keepLength(entries),
    keepLength(queries),
    keepMap(billing.accounts),
    keepMap(billing.subscriptions),
    keepMap(billing.orders),
    keepMap(billing.inbox),
    keepMap(billing.removals),
    keepMap(billing.sweeps)
  ]
  return () => {
    for (const step of restore) step()
  }
}
