import { Clock, Effect } from "effect"

/** Estimated memory of an entry besides its key and value: objects, and slots in two maps. */
const entryOverheadBytes = 512

export interface BoundedStoreOptions<V> {
  readonly ttlMs: number
  readonly capacity: number
  readonly maxBytes: number
  /** Larger values are not kept, because a few of them would evict thousands of others. */
  readonly maxValueBytes: number
  readonly sizeOf: (value: V) => number
}

interface Entry<V> {
  readonly value: V
  readonly expiresAt: number
  readonly bytes: number
}

/** An in-process cache with limits on count and bytes. Evicts the least recently used values first. */
export class BoundedStore<V> {
  private readonly options: BoundedStoreOptions<V>
  /** Least recently used first. */
  private readonly byUse = new Map<string, Entry<V>>()
  /** Next to expire first. */
  private readonly byExpiry = new Map<string, Entry<V>>()
  private total = 0

  constructor(options: BoundedStoreOptions<V>) {
    this.options = options
  }

  get count(): number {
    return this.byUse.size
  }

  get bytes(): number {
    return this.total
  }

  get(key: string, now: number): V | undefined {
    const entry = this.byUse.get(key)
    if (entry === undefined || entry.expiresAt <= now) return undefined
    this.byUse.delete(key)
    this.byUse.set(key, entry)
    return entry.value
  }

  set(key: string, value: V, now: number): void {
    const { capacity, maxBytes, maxValueBytes, sizeOf, ttlMs } = this.options
    if (ttlMs <= 0) return
    this.sweep(now)
    this.remove(key)
    const size = sizeOf(value)
    const entry = { value, expiresAt: now + ttlMs, bytes: 2 * key.length + size + entryOverheadBytes }
    if (size > maxValueBytes || entry.bytes > maxBytes) return
    this.byUse.set(key, entry)
    this.byExpiry.set(key, entry)
    this.total += entry.bytes
    for (const oldest of this.byUse.keys()) {
      if (this.count <= capacity && this.total <= maxBytes) return
      this.remove(oldest)
    }
  }

  sweep(now: number): void {
    for (const [key, { expiresAt }] of this.byExpiry) {
      if (expiresAt > now) return
      this.remove(key)
    }
  }

  private remove(key: string): void {
    this.total -= this.byUse.get(key)?.bytes ?? 0
    this.byUse.delete(key)
    this.byExpiry.delete(key)
  }
}

const sweepDelayMs = 60_000

/** Run the returned effect after adding a value. Its fiber ends once the store is empty, so a test can skip years. */
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
