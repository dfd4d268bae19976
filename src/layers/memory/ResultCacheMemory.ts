import { Clock, Duration, Effect, Layer } from "effect"
import type { Answer } from "../../domain/Answer.ts"
import { ResultCache, type ResultStore } from "../../services/ResultCache.ts"

interface Options {
  readonly ttl: Duration.Duration
  /** Most answers kept. */
  readonly capacity: number
}

/** Answers of a process's recent searches, the least recently asked for dropped first. */
const makeStore = (options: Options): ResultStore => {
  const ttlMs = Duration.toMillis(options.ttl)
  const kept = new Map<string, { readonly answer: Answer; readonly expiresAt: number }>()

  const get = (key: string, now: number): Answer | undefined => {
    const entry = kept.get(key)
    if (entry === undefined) return undefined
    kept.delete(key)
    if (entry.expiresAt <= now) return undefined
    kept.set(key, entry)
    return entry.answer
  }

  const set = (key: string, answer: Answer, now: number): void => {
    if (ttlMs <= 0 || options.capacity <= 0) return
    kept.delete(key)
    kept.set(key, { answer: { ...answer, cached: true }, expiresAt: now + ttlMs })
    if (kept.size <= options.capacity) return
    for (const oldest of kept.keys()) {
      kept.delete(oldest)
      return
    }
  }

  return {
    get: (key) => Effect.map(Clock.currentTimeMillis, (now) => get(key, now)),
    set: (key, answer) => Effect.map(Clock.currentTimeMillis, (now) => set(key, answer, now))
  }
}

/**
 * Keeps answers in this process. A `ttl` or a `capacity` of 0 keeps none, while identical searches in flight still
 * share one lookup.
 */
export const layer = (options: Options): Layer.Layer<ResultCache> =>
  Layer.effect(
    ResultCache,
    Effect.suspend(() => ResultCache.make(makeStore(options)))
  )
