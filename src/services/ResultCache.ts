import { Context, type Effect } from "effect"
import type { SearchRequest } from "../domain/SearchRequest.ts"
import type { Found } from "./Providers.ts"

export interface Cached extends Found {
  /** Whether the answer was there already. A search that joined one in flight is no hit. */
  readonly cached: boolean
}

/**
 * Answers of recent searches. Two searches are the same when everything but their `source` is. Failed searches are
 * never kept (R15).
 */
export class ResultCache extends Context.Service<
  ResultCache,
  {
    /**
     * The kept answer, or that of `lookup`. Identical searches in flight share one `lookup`, which goes on while at
     * least one of them waits. One that joined and sees it fail runs its own.
     */
    readonly get: <E, R>(request: SearchRequest, lookup: Effect.Effect<Found, E, R>) => Effect.Effect<Cached, E, R>
  }
>()("quarry/services/ResultCache") {}

/** The identity of a search: everything that its results depend on. */
export const cacheKey = (request: SearchRequest): string =>
  JSON.stringify([request.target, request.query, request.geo, request.locale, request.page, request.num, request.safe])
