import { Clock, Effect } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import type { AccountPrincipal, Principal } from "../../domain/accounts/Principal.ts"
import { pageTarget } from "../../domain/search/Target.ts"
import { addLogFields } from "../../http/CurrentRequest.ts"
import { noteError } from "../../http/errors.ts"
import { withQuotaHeaders } from "../../http/responses/quota.ts"
import { withRetryAfter } from "../../http/responses/retryAfter.ts"
import { PageBatches } from "../../services/pages/PageBatches.ts"
import { Pages } from "../../services/pages/Pages.ts"
import type { CompatError, PageCompatError } from "../CompatError.ts"
import { makeGate } from "../gate/gate.ts"
import type { PageAnswer, PageForm, PagesForm } from "./PageForm.ts"

type Request = HttpServerRequest.HttpServerRequest
type Served<E> = Effect.fn.Return<HttpServerResponse.HttpServerResponse, E, Request>

/** The cast: the gate admits only keys, and keyless requests that are charged to an account. */
const payer = (principal: Principal): AccountPrincipal => principal as AccountPrincipal

const respond = (answer: PageAnswer): HttpServerResponse.HttpServerResponse =>
  "json" in answer ? HttpServerResponse.jsonUnsafe(answer.json) : HttpServerResponse.text(answer.text)

export const makeServePages = Effect.gen(function* () {
  const gate = yield* makeGate
  const pages = yield* Pages
  const batches = yield* PageBatches

  const one = Effect.fnUntraced(function* (form: PageForm, request: Request): Served<PageCompatError> {
    const { fields, principal, state } = yield* gate(form, request)
    const { answer, request: asked } = yield* Effect.fromResult(form.decode(fields))
    const settlement = yield* withQuotaHeaders(state, pages.run(payer(principal), asked))
    return respond(answer(yield* withRetryAfter(Effect.fromResult(settlement.body))))
  }, Effect.tapError(noteError))

  const many = Effect.fnUntraced(function* <E extends PageCompatError>(
    form: PagesForm<E>,
    request: Request
  ): Served<CompatError | E> {
    const { fields, principal, state } = yield* gate(form, request)
    const { answer, rows } = yield* Effect.fromResult(form.decode(fields))
    addLogFields(state, { target: pageTarget })
    const startedAt = yield* Clock.currentTimeMillis
    const settlement = yield* withQuotaHeaders(state, batches.run(payer(principal), rows))
    const durationMs = (yield* Clock.currentTimeMillis) - startedAt
    const read = { rows: settlement.body.results, requestId: state.id, durationMs }
    return HttpServerResponse.jsonUnsafe(yield* Effect.fromResult(answer(read)))
  }, Effect.tapError(noteError))

  return { one, many }
})
