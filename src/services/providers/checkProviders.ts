import { Duration, Effect } from "effect"
import { namesOf } from "../../domain/providers/providerNames.ts"
import { toJson } from "../../domain/search/Capabilities.ts"
import type { SearchRequest } from "../../domain/search/SearchRequest.ts"
import { Limits } from "./Limits.ts"
import { type ProviderCheck, ProviderStates } from "./ProviderStates.ts"

/** A search with results on every engine. */
export const checkedSearch: SearchRequest = {
  target: "alpha_search",
  query: "web search",
  geo: "us",
  locale: "en-us",
  page: 1,
  num: 10,
  safe: "off",
  source: undefined
}

/** Sends one search to every provider. Not recorded, because it changes nothing. */
export const checkProviders = Effect.gen(function* () {
  const { providerTimeout } = yield* Limits
  const states = yield* ProviderStates
  return yield* states.check(checkedSearch, Duration.toMillis(providerTimeout))
})

export const checksJson = (checks: ReadonlyArray<ProviderCheck>) => ({
  ok: checks.every(({ refusal }) => refusal === undefined),
  providers: checks.map((check) => ({
    ...namesOf(check.state),
    ok: check.refusal === undefined,
    rows: check.rows ?? null,
    ms: check.durationMs,
    refusal: check.refusal === undefined ? null : { reason: check.refusal.reason, message: check.refusal.message },
    serves: check.state.capabilities === undefined ? null : toJson(check.state.capabilities)
  }))
})
