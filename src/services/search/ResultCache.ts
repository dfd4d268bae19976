import { Context, type Effect } from "effect"
import type { Answer } from "../../domain/search/Answer.ts"
import type { SearchRequest } from "../../domain/search/SearchRequest.ts"

/** Larger responses are not cached: a few of them would evict thousands of others. */
export const maxAnswerBytes = 262_144

/** In memory: a string with any character outside Latin-1 takes two bytes for each. */
export const answerBytes = ({ ranking }: Answer): number => 2 * ranking.json.length

/** All fields that the results depend on. */
export const cacheKey = ({ geo, locale, num, options, page, query, safe, target }: SearchRequest): string =>
  JSON.stringify(
    options === undefined
      ? [target, query, geo, locale, page, num, safe]
      : [target, query, geo, locale, page, num, safe, options]
  )

/** A cache of answers, by `cacheKey`. It limits their lifetime and marks those it returns as `cached`. */
export class ResultCache extends Context.Service<
  ResultCache,
  {
    readonly get: (key: string) => Effect.Effect<Answer | undefined>
    readonly set: (key: string, answer: Answer) => Effect.Effect<void>
  }
>()("quarry/services/search/ResultCache") {}
