import { Clock, Effect, Result } from "effect"
import type { Principal } from "../domain/accounts/Principal.ts"
import { UpstreamError, UpstreamTimeout } from "../domain/errors.ts"
import type { RequestState } from "../domain/requests/CurrentRequest.ts"
import type { RowBody } from "../domain/search/BulkResult.ts"
import type { OrganicResult } from "../domain/search/OrganicResult.ts"
import { defaultNum, maxQueryCodePoints, type SearchRequest, toSearch } from "../domain/search/SearchRequest.ts"
import { targetRules, targets } from "../domain/search/Target.ts"
import { codePointLength, cutAtWord } from "../domain/text.ts"
import { addLogFields } from "../http/requestState.ts"
import { receiptOf, withQuotaHeaders } from "../http/responses/quota.ts"
import { Bulk } from "../services/search/Bulk.ts"
import { Search } from "../services/search/Search.ts"
import type { CompatRequest, CompatResults, SearchForm } from "./SearchForm.ts"

const toSearchRequest = (form: SearchForm, asked: CompatRequest, asText: string, state: RequestState) => {
  const { geo, locale, num = defaultNum, page, safe = "off", target = targets[0] } = asked
  const rules = targetRules[target]
  const query = cutAtWord(asText, maxQueryCodePoints)
  if (query !== asText) addLogFields(state, { query_cut_from: codePointLength(asText) })
  return toSearch({
    query,
    target,
    num: Math.min(Math.max(num, 1), rules.maxNum),
    safe: rules.safe ? safe : "off",
    source: `compat:${form.name}`,
    ...(geo === undefined ? {} : { geo }),
    ...(locale === undefined ? {} : { locale }),
    ...(page === undefined ? {} : { page }),
    ...asked.options
  })
}

/** Combines results by rank, each address once. A failure with no results must not look like an empty answer. */
const combine = (
  rows: ReadonlyArray<RowBody>
): Result.Result<ReadonlyArray<OrganicResult>, UpstreamError | UpstreamTimeout> => {
  const lists = rows.map((row) => (row.status === "ok" ? row.ranking.results : []))
  const byUrl = new Map<string, OrganicResult>()
  for (let rank = 0; lists.some((list) => rank < list.length); rank++) {
    for (const list of lists) {
      const result = list[rank]
      if (result !== undefined && !byUrl.has(result.url)) byUrl.set(result.url, result)
    }
  }
  const failed = rows.find((row) => row.status === "error")
  if (byUrl.size === 0 && failed !== undefined) {
    const { error, message } = failed
    return Result.fail(error === "upstream_timeout" ? new UpstreamTimeout({ message }) : new UpstreamError({ message }))
  }
  return Result.succeed(Array.from(byUrl.values(), (result, index) => ({ ...result, position: index + 1 })))
}

export const makeSearches = Effect.gen(function* () {
  const search = yield* Search
  const bulk = yield* Bulk

  const run = Effect.fnUntraced(function* (principal: Principal, asked: SearchRequest, state: RequestState) {
    const settlement = yield* withQuotaHeaders(search.run(principal, asked), receiptOf)
    const { id, query, ranking } = yield* Effect.fromResult(settlement.body)
    const durationMs = settlement.entry?.durationMs ?? 0
    const found: CompatResults = { id, requestId: state.id, query, results: ranking.results, durationMs }
    return { found, receipt: settlement.receipt }
  })

  const runAll = Effect.fnUntraced(function* (
    principal: Principal,
    asked: ReadonlyArray<SearchRequest>,
    state: RequestState
  ) {
    const startedAt = yield* Clock.currentTimeMillis
    const settlement = yield* withQuotaHeaders(bulk.run(principal, asked.map(Result.succeed)), receiptOf)
    const results = yield* Effect.fromResult(combine(settlement.body.results))
    const durationMs = (yield* Clock.currentTimeMillis) - startedAt
    const { body, receipt } = settlement
    const query = asked[0]?.query ?? ""
    const found: CompatResults = { id: body.batch_id, requestId: state.id, query, results, durationMs }
    return { found, receipt }
  })

  return Effect.fnUntraced(function* (
    form: SearchForm,
    principal: Principal,
    asked: CompatRequest,
    state: RequestState
  ) {
    const texts = typeof asked.query === "string" ? [asked.query] : asked.query
    const searches = yield* Effect.fromResult(
      Result.all(texts.map((text) => toSearchRequest(form, asked, text, state)))
    )
    const [only] = searches
    return yield* searches.length === 1 && only !== undefined
      ? run(principal, only, state)
      : runAll(principal, searches, state)
  })
})
