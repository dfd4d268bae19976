import { Effect, Layer, Result, Schema } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { Forbidden, InvalidRequest, Issue, NotFound, RateLimited, Unauthorized } from "../../domain/errors.ts"
import { authPath } from "../../domain/OAuth.ts"
import { signUpDeniedCode } from "../../domain/signUp.ts"
import { AuthRoutes } from "../../services/AuthRoutes.ts"
import { RateLimiter } from "../../services/RateLimiter.ts"
import { readAnonymous } from "../body.ts"
import { type ApiError, apiErrorResponse, encodeApiError } from "../errors.ts"
import { limitByAddress } from "../middleware/addressLimit.ts"
import { clientAddress } from "../middleware/clientAddress.ts"
import { noStore } from "../middleware/securityHeaders.ts"
import { checkParameterCount } from "../query.ts"

/** An error of the sign-in library: a message for people, a code, and the wrong fields, if any. */
const LibraryError = Schema.Struct({
  message: Schema.NonEmptyString,
  code: Schema.optionalKey(Schema.String),
  issues: Schema.optionalKey(Schema.Array(Issue))
})

const decodeLibraryError = Schema.decodeUnknownResult(Schema.fromJsonString(LibraryError))

/** An error of OAuth has a form of its own, which apps read (RFC 6749 section 5.2, RFC 7591 section 3.2.2). */
const OAuthError = Schema.Struct({ error: Schema.NonEmptyString })

const decodeOAuthError = Schema.decodeUnknownResult(Schema.fromJsonString(OAuthError))

const isOAuthError = ({ pathname }: URL, status: number, text: string): boolean =>
  pathname.startsWith(`${authPath}/oauth2/`) &&
  [400, 401, 403].includes(status) &&
  Result.isSuccess(decodeOAuthError(text))

/** An error of the library as one of the API's, which has fewer statuses (R3). */
const toApiError = (status: number, text: string, retryAfterSeconds: number): ApiError => {
  const error = decodeLibraryError(text)
  const { code, issues, message } = Result.isSuccess(error) ? error.success : { message: "The sign-in failed." }
  if (code === signUpDeniedCode) return new Forbidden({ message })
  if (status === 401 || status === 403) return new Unauthorized({ message })
  if (status === 404) return new NotFound({ message })
  if (status === 429) return new RateLimited({ message, retryAfterSeconds })
  return issues === undefined ? InvalidRequest.whole(message) : InvalidRequest.fromIssues(issues)
}

/** The API's envelope for an error of the library, with its cookies, which may end a session, and its time to wait. */
const errorResponse = Effect.fnUntraced(function* (response: Response, text: string) {
  const retryAfter = Math.max(1, Number(response.headers.get("x-retry-after")) || 1)
  const error = toApiError(response.status, text, retryAfter)
  const { body, status } = yield* encodeApiError(error)
  const headers = new Headers({ "content-type": "application/json" })
  for (const cookie of response.headers.getSetCookie()) headers.append("set-cookie", cookie)
  if (error._tag === "rate_limited" && error.retryAfterSeconds !== undefined)
    headers.set("retry-after", String(error.retryAfterSeconds))
  return HttpServerResponse.fromWeb(new Response(JSON.stringify(body), { status, headers }))
})

/** Longer headers than 16 KiB are refused by most clients. */
const maxLocationCharacters = 8 * 1024

/**
 * The library's headers. Its error page leads on with every parameter, and percent-encoding makes them three times as long:
 * an address that is too long loses its query.
 */
const headersOf = ({ headers }: Response): Headers => {
  const copy = new Headers(headers)
  const location = copy.get("location")
  if (location !== null && location.length > maxLocationCharacters)
    copy.set("location", location.replace(/[?#].*$/s, ""))
  return copy
}

/** A response of the library as it is, or its error in the API's envelope. */
const toServerResponse = Effect.fnUntraced(function* (url: URL, response: Response) {
  // Read to its end: a stream that fails later could not be answered with an error.
  const text = yield* Effect.promise(() => response.text())
  const { status } = response
  if (status >= 400 && !isOAuthError(url, status, text)) return yield* errorResponse(response, text)
  const whole = HttpServerResponse.fromWeb(
    new Response(text === "" ? null : text, { status, headers: headersOf(response) })
  )
  return HttpServerResponse.setHeaders(whole, noStore)
})

/** Passes requests below `/api/auth` to the sign-in library, and its responses back. */
export const layer = Layer.unwrap(
  Effect.gen(function* () {
    const routes = yield* AuthRoutes
    const limiter = yield* RateLimiter

    const handler = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const { headers, method } = request
      if (method === "POST") yield* limitByAddress(limiter)
      yield* checkParameterCount
      const body = method === "POST" ? yield* readAnonymous(request) : ""
      // A reserved host, because nothing may depend on the `Host` that a client sends.
      const url = new URL(request.url, "http://quarry.invalid")
      const webRequest = new Request(url, { method, headers, body: body === "" ? null : body })
      return yield* toServerResponse(url, yield* routes.handle(webRequest, yield* clientAddress))
    }).pipe(Effect.catchTag(["not_found", "rate_limited", "invalid_request"], apiErrorResponse))

    return Layer.mergeAll(
      HttpRouter.add("GET", `${authPath}/*`, handler),
      HttpRouter.add("POST", `${authPath}/*`, handler)
    )
  })
)
