import { Context, Effect, Layer, Result } from "effect"
import type { Principal } from "../../domain/accounts/Principal.ts"
import type { UpstreamError, UpstreamTimeout } from "../../domain/errors.ts"
import { keepSearch, restoreSearch } from "../../domain/search/KeptAnswer.ts"
import type { SearchRequest } from "../../domain/search/SearchRequest.ts"
import type { SearchBody } from "../../domain/search/SearchResult.ts"
import { Limits } from "../providers/Limits.ts"
import { Providers } from "../providers/Providers.ts"
import { describeSearch } from "../telemetry/Tracing.ts"
import { countSearch, type DispatchedSearch, makeDispatch, toBody, toLogEntry } from "./DispatchedSearch.ts"
import { makeSingles, type Settlement, type SingleKind, type Singles } from "./Singles.ts"

type Failure = UpstreamError | UpstreamTimeout

export type SearchSettlement = Settlement<SearchBody, Failure>

/** Runs single searches. Failed searches are charged too, except those without a provider for their target. */
export class Search extends Context.Service<Search, Singles<Principal, SearchRequest, SearchBody, Failure>>()(
  "quarry/services/Search"
) {
  static readonly layer = Layer.effect(
    Search,
    Effect.gen(function* () {
      const dispatch = yield* makeDispatch
      const providers = yield* Providers
      const kind: SingleKind<Principal, SearchRequest, DispatchedSearch, SearchBody, Failure> = {
        route: "query",
        spanName: "Search.run",
        idPrefix: "qry_",
        patience: (yield* Limits).providerTimeout,
        targetOf: ({ target }) => target,
        describe: describeSearch,
        check: providers.check,
        run: (_, request) => dispatch(request),
        toEntry: toLogEntry,
        toBody: (id, request, { answer }) => Result.map(answer, ({ ranking }) => toBody(id, request, ranking)),
        keep: keepSearch,
        restore: restoreSearch,
        count: (entry) => countSearch("search", entry)
      }
      return yield* makeSingles(kind)
    })
  )
}
