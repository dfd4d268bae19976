import { Context, Effect, Layer, Metric, Result } from "effect"
import type { Principal } from "../../domain/accounts/Principal.ts"
import type { UpstreamError, UpstreamTimeout } from "../../domain/errors.ts"
import { unsentFailure } from "../../domain/providers/Unsent.ts"
import { keepSearch, restoreSearch } from "../../domain/search/KeptAnswer.ts"
import type { SearchRequest } from "../../domain/search/SearchRequest.ts"
import type { SearchBody } from "../../domain/search/SearchResult.ts"
import { Attempts } from "../providers/Attempts.ts"
import { Limits } from "../providers/Limits.ts"
import { Providers } from "../providers/Providers.ts"
import { searchDuration } from "../telemetry/Metrics.ts"
import { describeSearch } from "../telemetry/Tracing.ts"
import { countSearch, type DispatchedSearch, makeDispatch, toBody, toLogEntry } from "./DispatchedSearch.ts"
import { makeSingles, type Settlement, type SingleKind, type Singles } from "./Singles.ts"

type Failure = UpstreamError | UpstreamTimeout

export type SearchSettlement = Settlement<SearchBody, Failure>

/** Runs single searches. Failed searches are charged too, except those for which no provider was asked (R76). */
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
        run: (principal, request) => dispatch({ principal, request, attempts: new Attempts() }),
        unsent: ({ answer }) => unsentFailure(Result.isFailure(answer) ? answer.failure : undefined),
        toEntry: toLogEntry,
        toBody: (id, request, { answer }) => Result.map(answer, ({ ranking }) => toBody(id, request, ranking)),
        keep: keepSearch,
        restore: restoreSearch,
        count: (entry) => countSearch("search", entry),
        countUnsent: ({ target }, { _tag }, { durationMs }) =>
          Metric.update(searchDuration.of("search", target, _tag, "false"), durationMs / 1000)
      }
      return yield* makeSingles(kind)
    })
  )
}
