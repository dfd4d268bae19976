import { Cause, Effect } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { type InternalError, internalError } from "../domain/errors.ts"
import { type ApiError, noteError } from "../http/errors.ts"
import { logFault } from "../http/responses/logFault.ts"
import { type Endpoint, rawRoute } from "../http/routes.ts"
import { Compat } from "./Compat.ts"
import type { CompatError } from "./CompatError.ts"
import { makeGate } from "./gate/gate.ts"
import { makeRawContent } from "./pages/rawContent.ts"
import type { ErrorAnswer, Shape } from "./Shape.ts"
import { makeSearches } from "./searches.ts"

type Request = HttpServerRequest.HttpServerRequest

export const makeServe = Effect.gen(function* () {
  const gate = yield* makeGate
  const runSearches = yield* makeSearches
  const rawContent = yield* makeRawContent
  const { engines } = yield* Compat

  return Effect.fnUntraced(function* (
    shape: Shape,
    request: Request
  ): Effect.fn.Return<HttpServerResponse.HttpServerResponse, CompatError, Request> {
    const { fields, principal, state } = yield* gate(shape, request)
    const asked = yield* Effect.fromResult(shape.decode(fields, engines))
    const { found, receipt } = yield* runSearches(shape, principal, asked, state)
    const { pages } = asked
    if (pages === undefined) return HttpServerResponse.jsonUnsafe(asked.answer(found))
    const wanted = { urls: pages.urlsOf(found), format: pages.format, source: `compat:${shape.name}` }
    const texts = yield* rawContent(principal, wanted, receipt, state)
    return HttpServerResponse.jsonUnsafe(asked.answer({ ...found, texts }))
  }, Effect.tapError(noteError))
})

const answer = ({ body, status }: ErrorAnswer) => HttpServerResponse.jsonUnsafe(body, { status })

export const answerErrors = <E extends ApiError, R>(
  served: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
  toError: (error: NoInfer<E> | InternalError) => ErrorAnswer
): Effect.Effect<HttpServerResponse.HttpServerResponse, never, R> =>
  served.pipe(
    Effect.catch((error) => Effect.succeed(answer(toError(error)))),
    Effect.catchCause((cause) =>
      Cause.hasInterruptsOnly(cause)
        ? Effect.failCause(cause)
        : Effect.andThen(logFault(cause), Effect.as(noteError(internalError), answer(toError(internalError))))
    )
  )

export interface Group {
  readonly endpoints: Readonly<Record<string, Endpoint>>
}

type Handler = (request: Request) => Effect.Effect<HttpServerResponse.HttpServerResponse, never, Request>

export const routesOf = ({ endpoints }: Group, handler: Handler) =>
  Object.values(endpoints).map((endpoint) =>
    rawRoute(endpoint, Effect.flatMap(HttpServerRequest.HttpServerRequest, handler))
  )
