import { Clock, Duration, Effect, Layer, type Scope } from "effect"
import type { Answer } from "../../domain/search/Answer.ts"
import { answerBytes, maxAnswerBytes, ResultCache } from "../../services/search/ResultCache.ts"
import { BoundedStore, makeSweeping } from "./BoundedStore.ts"

interface Options {
  readonly ttl: Duration.Duration
  readonly capacity: number
  readonly maxBytes?: number
}

const defaultMaxBytes = 64 * 1024 * 1024

export class AnswerStore extends BoundedStore<Answer> {
  constructor({ capacity, maxBytes = defaultMaxBytes, ttl }: Options) {
    super({
      capacity,
      maxBytes,
      ttlMs: Duration.toMillis(ttl),
      maxValueBytes: maxAnswerBytes,
      sizeOf: answerBytes
    })
  }

  override set(key: string, answer: Answer, now: number): void {
    super.set(key, { ...answer, cached: true }, now)
  }
}

export const make = Effect.fnUntraced(function* (
  store: AnswerStore
): Effect.fn.Return<ResultCache["Service"], never, Scope.Scope> {
  const startSweep = yield* makeSweeping(store)
  return {
    get: (key) => Effect.map(Clock.currentTimeMillis, (now) => store.get(key, now)),
    set: (key, answer) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        store.set(key, answer, now)
        return startSweep
      })
  }
})

/** A `ttl` or `capacity` of 0 disables caching. */
export const layer = (options: Options): Layer.Layer<ResultCache> =>
  Layer.effect(ResultCache, make(new AnswerStore(options)))
