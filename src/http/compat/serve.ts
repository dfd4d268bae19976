import { Cause, Effect } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import type { Principal } from "../../domain/accounts/Principal.ts"
import { type InternalError, internalError } from "../../domain/errors.ts"
import { defaultNum, maxQueryCodePoints, type SearchRequest, toSearch } from "../../domain/search/SearchRequest.ts"
import { targetRules, targets } from "../../domain/search/Target.ts"
import { codePointLength, cutAtWord } from "../../domain/text.ts"
import { Search } from "../../services/search/Search.ts"
import { addLogFields, type RequestState, setHeaders } from "../CurrentRequest.ts"
import { type ApiError, noteError } from "../errors.ts"
import { searchFacts } from "../handlers/search.ts"
import { logSettlement, withQuotaOnFailure } from "../handlers/settlements.ts"
import { logFault } from "../middleware/Edge.ts"
import { quotaHeaders } from "../responses/headers.ts"
import { Compat } from "./Compat.ts"
import type { CompatError } from "./CompatError.ts"
import { makeGate } from "./gate/gate.ts"
import { makeRawContent } from "./pages/rawContent.ts"
import type { CompatRequest, Shape } from "./Shape.ts"

type Request = HttpServerRequest.HttpServerRequest

const toSearchRequest = (shape: Shape, asked: CompatRequest, state: RequestState) => {
  const { geo, locale, num = defaultNum, page, safe = "off", target = targets[0] } = asked
  const rules = targetRules[target]
  const query = cutAtWord(asked.query, maxQueryCodePoints)
  if (query !== asked.query) addLogFields(state, { query_cut_from: codePointLength(asked.query) })
  return toSearch({
    query,
    target,
    num: Math.min(Math.max(num, 1), rules.maxNum),
    safe: rules.safe ? safe : "off",
    source: `compat:${shape.name}`,
    ...(geo === undefined ? {} : { geo }),
    ...(locale === undefined ? {} : { locale }),
    ...(page === undefined ? {} : { page })
  })
}

/** Builds the handler for searches in another service's format. */
export const makeServe = Effect.gen(function* () {
  const gate = yield* makeGate
  const search = yield* Search
  const rawContent = yield* makeRawContent
  const { engines } = yield* Compat

  const run = Effect.fnUntraced(function* (principal: Principal, asked: SearchRequest, state: RequestState) {
    addLogFields(state, { target: asked.target })
    const running = search.run(principal, asked, (settlement) => {
      state.work = logSettlement(state, settlement, searchFacts)
    })
    const settlement = yield* withQuotaOnFailure(state, running)
    addLogFields(state, searchFacts(settlement))
    setHeaders(state, quotaHeaders(settlement.receipt))
    const { id, query, ranking } = yield* Effect.fromResult(settlement.body)
    const durationMs = settlement.entry?.durationMs ?? 0
    const { receipt } = settlement
    return { receipt, found: { id, requestId: state.id, query, results: ranking.results, durationMs } }
  })

  return Effect.fnUntraced(function* (
    shape: Shape,
    request: Request
  ): Effect.fn.Return<HttpServerResponse.HttpServerResponse, CompatError, Request> {
    const { fields, principal, state } = yield* gate(shape, request)
    const asked = yield* Effect.fromResult(shape.decode(fields, engines))
    const toRun = yield* Effect.fromResult(toSearchRequest(shape, asked, state))
    const { found, receipt } = yield* run(principal, toRun, state)
    const { pages } = asked
    if (pages === undefined) return HttpServerResponse.jsonUnsafe(asked.answer(found))
    const wanted = { urls: pages.urlsOf(found), format: pages.format, source: `compat:${shape.name}` }
    const texts = yield* rawContent(principal, wanted, receipt, state)
    return HttpServerResponse.jsonUnsafe(asked.answer({ ...found, texts }))
  }, Effect.tapError(noteError))
})

/** Encodes every error in the service's own format, including defects. */
export const answerErrors = <E extends ApiError, R>(
  served: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
  toError: (error: NoInfer<E> | InternalError) => { readonly status: number; readonly body: unknown }
): Effect.Effect<HttpServerResponse.HttpServerResponse, never, R> => {
  const respond = (error: E | InternalError) => {
    const { body, status } = toError(error)
    return HttpServerResponse.jsonUnsafe(body, { status })
  }
  return served.pipe(
    Effect.catch((error) => Effect.succeed(respond(error))),
    Effect.catchCause((cause) =>
      Cause.hasInterruptsOnly(cause)
        ? Effect.failCause(cause)
        : Effect.andThen(logFault(cause), Effect.as(noteError(internalError), respond(internalError)))
    )
  )
}
