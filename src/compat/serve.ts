import { Cause, Clock, Effect } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import type { AccountPrincipal, Principal } from "../domain/accounts/Principal.ts"
import { internalError } from "../domain/errors.ts"
import { pageTarget } from "../domain/search/Target.ts"
import { apiErrorResponse, noteError } from "../http/errors.ts"
import { addLogFields } from "../http/requestState.ts"
import { logFault } from "../http/responses/logFault.ts"
import { receiptOf, withQuotaHeaders } from "../http/responses/quota.ts"
import { withRetryAfter } from "../http/responses/retryAfter.ts"
import { PageBatches } from "../services/pages/PageBatches.ts"
import { Pages } from "../services/pages/Pages.ts"
import { Compat } from "./Compat.ts"
import type { PageCompatError } from "./CompatError.ts"
import type { CompatRoute, CompatService, ErrorAnswer } from "./CompatService.ts"
import { makeGate } from "./gate.ts"
import type { PageAnswer, PageForm, PagesForm } from "./PageForm.ts"
import { makeRawContent } from "./rawContent.ts"
import type { SearchForm } from "./SearchForm.ts"
import { makeSearches } from "./searches.ts"

type Request = HttpServerRequest.HttpServerRequest
type Response = HttpServerResponse.HttpServerResponse

const toResponse = (answer: PageAnswer): Response =>
  "json" in answer ? HttpServerResponse.jsonUnsafe(answer.json) : HttpServerResponse.text(answer.text)

/** The cast: the gate admits only keys, and keyless requests that are charged to an account. */
const payer = (principal: Principal): AccountPrincipal => principal as AccountPrincipal

type Gate = Effect.Success<typeof makeGate>

const makeSearch = Effect.fnUntraced(function* (gate: Gate) {
  const runSearches = yield* makeSearches
  const rawContent = yield* makeRawContent
  const { engines } = yield* Compat

  return Effect.fnUntraced(function* (form: SearchForm, request: Request) {
    const { fields, principal, state } = yield* gate(form, request)
    const asked = yield* Effect.fromResult(form.decode(fields, engines))
    const { found, receipt } = yield* runSearches(form, principal, asked, state)
    const { pages } = asked
    if (pages === undefined) return HttpServerResponse.jsonUnsafe(asked.answer(found))
    const wanted = { urls: pages.urlsOf(found), format: pages.format, source: `compat:${form.name}` }
    const texts = yield* rawContent(principal, wanted, receipt, state)
    return HttpServerResponse.jsonUnsafe(asked.answer({ ...found, texts }))
  })
})

const makePage = Effect.fnUntraced(function* (gate: Gate) {
  const pages = yield* Pages

  return Effect.fnUntraced(function* (form: PageForm, request: Request) {
    const { fields, principal } = yield* gate(form, request)
    const { answer, request: asked } = yield* Effect.fromResult(form.decode(fields))
    const settlement = yield* withQuotaHeaders(pages.run(payer(principal), asked), receiptOf)
    return toResponse(answer(yield* withRetryAfter(Effect.fromResult(settlement.body))))
  })
})

const makePages = Effect.fnUntraced(function* (gate: Gate) {
  const batches = yield* PageBatches

  return Effect.fnUntraced(function* (form: PagesForm<PageCompatError>, request: Request) {
    const { fields, principal, state } = yield* gate(form, request)
    const { answer, rows } = yield* Effect.fromResult(form.decode(fields))
    addLogFields(state, { target: pageTarget })
    const startedAt = yield* Clock.currentTimeMillis
    const settlement = yield* withQuotaHeaders(batches.run(payer(principal), rows), receiptOf)
    const durationMs = (yield* Clock.currentTimeMillis) - startedAt
    const read = { rows: settlement.body.results, requestId: state.id, durationMs }
    return HttpServerResponse.jsonUnsafe(yield* Effect.fromResult(answer(read)))
  })
})

const errorResponse = ({ body, status }: ErrorAnswer): Response => HttpServerResponse.jsonUnsafe(body, { status })

const withErrors = (
  served: Effect.Effect<Response, PageCompatError, Request>,
  toError: NonNullable<CompatService["toError"]>
): Effect.Effect<Response, never, Request> =>
  served.pipe(
    Effect.catch((error) => Effect.succeed(errorResponse(toError(error)))),
    Effect.catchCause((cause) =>
      Cause.hasInterruptsOnly(cause)
        ? Effect.failCause(cause)
        : Effect.andThen(logFault(cause), Effect.as(noteError(internalError), errorResponse(toError(internalError))))
    )
  )

/** Serves the requests of a route, with errors in the format that the service's clients read. */
export const makeServe = Effect.gen(function* () {
  const gate = yield* makeGate
  const search = yield* makeSearch(gate)
  const page = yield* makePage(gate)
  const pages = yield* makePages(gate)

  const serve = (route: CompatRoute, request: Request): Effect.Effect<Response, PageCompatError, Request> =>
    "search" in route
      ? search(route.search, request)
      : "page" in route
        ? page(route.page, request)
        : pages(route.pages, request)

  return ({ toError }: CompatService, route: CompatRoute) =>
    (request: Request): Effect.Effect<Response, never, Request> => {
      const served = Effect.tapError(serve(route, request), noteError)
      return toError === undefined ? Effect.catch(served, apiErrorResponse) : withErrors(served, toError)
    }
})
