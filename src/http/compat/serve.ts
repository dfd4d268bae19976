import { Cause, Effect } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { type InternalError, internalError } from "../../domain/errors.ts"
import { type ApiError, noteError } from "../errors.ts"
import { logFault } from "../middleware/Edge.ts"
import { Compat } from "./Compat.ts"
import type { CompatError } from "./CompatError.ts"
import { makeGate } from "./gate/gate.ts"
import { makeRawContent } from "./pages/rawContent.ts"
import type { Shape } from "./Shape.ts"
import { makeSearches } from "./searches.ts"

type Request = HttpServerRequest.HttpServerRequest

/** Builds the handler for searches in another service's format. */
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
