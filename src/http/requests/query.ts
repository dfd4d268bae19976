import { Context, Effect, Result } from "effect"
import { HttpServerRequest, type HttpServerResponse } from "effect/http"
import { InvalidRequest } from "../../domain/errors.ts"
import type { RequestState } from "../../domain/requests/CurrentRequest.ts"
import { CurrentRequest } from "../../domain/requests/CurrentRequest.ts"
import { undecodable } from "../../domain/requests/fields.ts"
import { hasTooManyParameters, maxParameters } from "../../domain/requests/parameters.ts"
import { apiErrorResponse } from "../errors.ts"

type Parameters = Record<string, string | Array<string>>

export const tooManyParameters = InvalidRequest.whole(
  `a query string or form may have at most ${maxParameters} parameters`
)

const decode = (written: string): string => {
  try {
    return decodeURIComponent(written.replaceAll("+", " "))
  } catch {
    return undecodable
  }
}

/** Returns one value as a string and several as a list. An undecodable value stays a list, which its schema rejects. */
const toParameter = (values: Array<string>): string | Array<string> => {
  const [first = "", second] = values
  return second === undefined && first !== undecodable ? first : values
}

/** Keeps two values per parameter, because a second is already invalid (R4). Limits their number (R70). */
export const parseQuery = (query: string): Result.Result<Parameters, InvalidRequest> => {
  if (hasTooManyParameters(query)) return Result.fail(tooManyParameters)
  const values = new Map<string, Array<string>>()
  for (const pair of query.split("&")) {
    if (pair === "") continue
    const end = `${pair}=`.indexOf("=")
    const name = decode(pair.slice(0, end))
    const value = decode(pair.slice(end + 1))
    const before = values.get(name)
    if (before === undefined) values.set(name, [value])
    else if (before.length < 2) before.push(value)
  }
  const parameters: Parameters = Object.create(null)
  for (const [name, all] of values) parameters[name] = toParameter(all)
  return Result.succeed(parameters)
}

export const parseQueryOf = ({ url }: Pick<HttpServerRequest.HttpServerRequest, "url">) =>
  parseQuery(url.slice(`${url}?`.indexOf("?") + 1))

/** The router would decode an overlong query before authentication. Routes reject it later. */
export const withoutLongQuery = <A, E, R>(
  request: HttpServerRequest.HttpServerRequest,
  state: RequestState,
  app: Effect.Effect<A, E, R>
) => {
  const start = request.url.indexOf("?")
  if (start < 0 || !hasTooManyParameters(request.url.slice(start + 1))) return app
  state.hasTooManyParameters = true
  return Effect.provideService(
    app,
    HttpServerRequest.HttpServerRequest,
    request.modify({ url: request.url.slice(0, start) })
  )
}

export const checkParameterCount: Effect.Effect<void, InvalidRequest> = Effect.flatMap(CurrentRequest, (state) =>
  state.hasTooManyParameters ? Effect.fail(tooManyParameters) : Effect.void
)

type Handler<E, R> = Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>

export const withDecodedQuery = <E, R>(handler: Handler<E, R>): Handler<E, R | HttpServerRequest.HttpServerRequest> =>
  Effect.withFiber(({ context }) => {
    if (Context.get(context, CurrentRequest).hasTooManyParameters) return apiErrorResponse(tooManyParameters)
    const request = Context.getUnsafe(context, HttpServerRequest.HttpServerRequest)
    // The router keeps undecodable values as written. If the whole query decodes, so does each value.
    if (!request.url.includes("%") || decode(request.url) !== undecodable) return handler
    return Result.match(parseQueryOf(request), {
      onFailure: apiErrorResponse,
      onSuccess: (parameters) => Effect.provideService(handler, HttpServerRequest.ParsedSearchParams, parameters)
    })
  })
