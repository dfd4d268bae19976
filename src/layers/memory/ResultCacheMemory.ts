import { Clock, Duration, Effect, Layer, type Scope } from "effect"
import type { Answer } from "../../domain/Answer.ts"
import { maxAnswerBytes, ResultCache, type ResultStore } from "../../services/ResultCache.ts"

interface Options {
  readonly ttl: Duration.Duration
  /** Most answers kept. */
  readonly capacity: number
  /** Most bytes that they take. */
  readonly maxBytes?: number
}

const defaultMaxBytes = 64 * 1024 * 1024

/** Memory of an entry besides its key and its answer: objects, and places in two maps. */
const entryOverheadBytes = 512

/** The time after which an expired answer leaves memory, at the latest. */
const sweepDelayMs = 60_000

interface Entry {
  readonly answer: Answer
  readonly expiresAt: number
  readonly bytes: number
}

/** A key is counted as the UTF-16 it may be. An answer's bytes are memory of its own. */
const bytesOf = (key: string, { ranking }: Answer): number => 2 * key.length + ranking.json.length + entryOverheadBytes

/** Answers in this process, bounded in number and bytes; the least recently asked for are dropped first. */
export class AnswerStore {
  private readonly ttlMs: number
  private readonly capacity: number
  private readonly maxBytes: number
  /** The least recently asked for first. */
  private readonly byUse = new Map<string, Entry>()
  /** The first to expire first. */
  private readonly byExpiry = new Map<string, Entry>()
  private total = 0

  constructor({ capacity, maxBytes = defaultMaxBytes, ttl }: Options) {
    this.ttlMs = Duration.toMillis(ttl)
    this.capacity = capacity
    this.maxBytes = maxBytes
  }

  get count(): number {
    return this.byUse.size
  }

  get bytes(): number {
    return this.total
  }

  get(key: string, now: number): Answer | undefined {
    const entry = this.byUse.get(key)
    if (entry === undefined || entry.expiresAt <= now) return undefined
    this.byUse.delete(key)
    this.byUse.set(key, entry)
    return entry.answer
  }

  set(key: string, answer: Answer, now: number): void {
    if (this.ttlMs <= 0) return
    this.sweep(now)
    this.remove(key)
    const entry = { answer: { ...answer, cached: true }, expiresAt: now + this.ttlMs, bytes: bytesOf(key, answer) }
    if (answer.ranking.json.length > maxAnswerBytes || entry.bytes > this.maxBytes) return
    this.byUse.set(key, entry)
    this.byExpiry.set(key, entry)
    this.total += entry.bytes
    for (const oldest of this.byUse.keys()) {
      if (this.count <= this.capacity && this.total <= this.maxBytes) return
      this.remove(oldest)
    }
  }

  /** Removes what has expired. */
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

/**
 * The store behind its service. A fiber of the scope sweeps it while it holds answers, and ends with the last of them: a
 * loop that never ends would run once for each minute of the years by which a test moves its clock.
 */
export const makeStore = Effect.fnUntraced(function* (
  store: AnswerStore
): Effect.fn.Return<ResultStore, never, Scope.Scope> {
  const scope = yield* Effect.scope
  let sweeping = false

  const sweep = Effect.gen(function* () {
    while (store.count > 0) {
      yield* Effect.sleep(sweepDelayMs)
      store.sweep(yield* Clock.currentTimeMillis)
    }
    sweeping = false
  })

  const startSweep = Effect.suspend(() => {
    if (sweeping || store.count === 0) return Effect.void
    sweeping = true
    return Effect.asVoid(Effect.forkIn(sweep, scope))
  })

  return {
    get: (key) => Effect.map(Clock.currentTimeMillis, (now) => store.get(key, now)),
    set: (key, answer) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        store.set(key, answer, now)
        return startSweep
      })
  }
})

/**
 * Keeps answers in this process. A `ttl` or a `capacity` of 0 keeps none, while identical searches in flight still
 * share one lookup.
 */
export const layer = (options: Options): Layer.Layer<ResultCache> =>
  Layer.effect(ResultCache, Effect.flatMap(makeStore(new AnswerStore(options)), ResultCache.make))
