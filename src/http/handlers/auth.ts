import { Effect, Layer, Result, Schema } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { explainOtherAddress } from "../../domain/accounts/CallingPage.ts"
import { authPath } from "../../domain/accounts/OAuth.ts"
import { signUpDeniedCode } from "../../domain/accounts/signUp.ts"
import { providerUnreachableCode, singleSignOnCode } from "../../domain/accounts/singleSignOn.ts"
import {
  Forbidden,
  freshSignInRequired,
  InvalidRequest,
  Issue,
  NotFound,
  RateLimited,
  secondFactorRequired,
  Unauthorized,
  UpstreamError
} from "../../domain/errors.ts"
import { waitText } from "../../domain/text.ts"
import { AuthRoutes } from "../../services/accounts/AuthRoutes.ts"
import { TrustedProxies } from "../../services/accounts/TrustedProxies.ts"
import { RateLimiter } from "../../services/credits/RateLimiter.ts"
import { Deployment } from "../../services/operations/Deployment.ts"
import { type ApiError, encodeApiError } from "../errors.ts"
import { limitAppsByAddress, limitByAddress } from "../middleware/addressLimit.ts"
import { clientAddress } from "../middleware/clientAddress.ts"
import { readAnonymous } from "../requests/body.ts"
import { checkParameterCount } from "../requests/query.ts"
import { noStore } from "../responses/securityHeaders.ts"

const LibraryError = Schema.Struct({
  message: Schema.NonEmptyString,
  code: Schema.optionalKey(Schema.String),
  issues: Schema.optionalKey(Schema.Array(Issue))
})

const decodeLibraryError = Schema.decodeUnknownResult(Schema.fromJsonString(LibraryError))

/** OAuth errors keep their own format, which apps read (RFC 6749 section 5.2, RFC 7591 section 3.2.2). */
const OAuthError = Schema.Struct({ error: Schema.NonEmptyString })

const decodeOAuthError = Schema.decodeUnknownResult(Schema.fromJsonString(OAuthError))

const isOAuthError = ({ pathname }: URL, status: number, text: string): boolean =>
  pathname.startsWith(`${authPath}/oauth2/`) &&
  [400, 401, 403].includes(status) &&
  Result.isSuccess(decodeOAuthError(text))

/** The library's answer to a request from another origin. Its own message, "Invalid origin", names no address. */
const otherOriginCode = "INVALID_ORIGIN"

/** The library's rate limits all share this text, which does not say when to try again. */
const waitlessMessage = /^Too many requests\. Please try again later\.$/

interface LibraryError {
  readonly status: number
  readonly text: string
  readonly retryAfterSeconds: number
  /** The message for a request whose `Origin` the library rejected. */
  readonly otherAddress: string
}

const forbiddenCodes: ReadonlySet<string> = new Set([signUpDeniedCode, singleSignOnCode, secondFactorRequired._tag])

const toApiError = ({ otherAddress, retryAfterSeconds, status, text }: LibraryError): ApiError => {
  const error = decodeLibraryError(text)
  const { code, issues, message } = Result.isSuccess(error) ? error.success : { message: "Sign-in failed. Try again." }
  if (code === otherOriginCode) return new Unauthorized({ message: otherAddress })
  if (code === freshSignInRequired._tag) return freshSignInRequired
  if (code !== undefined && forbiddenCodes.has(code)) return new Forbidden({ message })
  if (code === providerUnreachableCode) return new UpstreamError({ message })
  if (status === 401 || status === 403) return new Unauthorized({ message })
  if (status === 404) return new NotFound({ message })
  if (status === 429) {
    const withWait = `Too many attempts. Try again in ${waitText(retryAfterSeconds)}.`
    return new RateLimited({ message: waitlessMessage.test(message) ? withWait : message, retryAfterSeconds })
  }
  return issues === undefined ? InvalidRequest.whole(message) : InvalidRequest.fromIssues(issues)
}

/** A 429 for an app has the field in which apps look for an explanation (RFC 6749 section 5.2). */
const encodeError = (path: string, error: ApiError) =>
  Effect.map(encodeApiError(error), ({ body, status }) => ({
    status,
    body: appPaths.has(path) && error._tag === "rate_limited" ? { ...body, error_description: error.message } : body
  }))

/** Keeps the library's cookies, which may end a session, and its retry time. */
const errorResponse = Effect.fnUntraced(function* ({ pathname }: URL, response: Response, text: string) {
  const { headers: asked } = yield* HttpServerRequest.HttpServerRequest
  const { origin } = yield* Deployment
  const error = toApiError({
    status: response.status,
    text,
    retryAfterSeconds: Math.max(1, Number(response.headers.get("x-retry-after")) || 1),
    otherAddress: explainOtherAddress(asked.origin ?? "another address", origin)
  })
  const { body, status } = yield* encodeError(pathname, error)
  const headers = new Headers({ "content-type": "application/json" })
  for (const cookie of response.headers.getSetCookie()) headers.append("set-cookie", cookie)
  if (error._tag === "rate_limited" && error.retryAfterSeconds !== undefined)
    headers.set("retry-after", String(error.retryAfterSeconds))
  return HttpServerResponse.fromWeb(new Response(JSON.stringify(body), { status, headers }))
})

/** Most clients reject responses with more than 16 KiB of headers. */
const maxLocationCharacters = 8 * 1024

/** Cuts query and fragment off a long `Location`: the library's error page repeats every parameter in it. */
const headersOf = ({ headers }: Response): Headers => {
  const copy = new Headers(headers)
  const location = copy.get("location")
  if (location !== null && location.length > maxLocationCharacters)
    copy.set("location", location.replace(/[?#].*$/s, ""))
  return copy
}

const toServerResponse = Effect.fnUntraced(function* (url: URL, response: Response) {
  // Buffers the body: a stream that fails later could not become an error response.
  const text = yield* Effect.promise(() => response.text())
  const { status } = response
  if (status >= 400 && !isOAuthError(url, status, text)) return yield* errorResponse(url, response, text)
  const whole = HttpServerResponse.fromWeb(
    new Response(text === "" ? null : text, { status, headers: headersOf(response) })
  )
  return HttpServerResponse.setHeaders(whole, noStore)
})

/** Called by apps, not by this deployment's pages. */
const appPaths: ReadonlySet<string> = new Set(
  ["token", "register", "revoke"].map((name) => `${authPath}/oauth2/${name}`)
)

/** Headers that a browser adds. The library would reject them from another origin, although no cookie counts here. */
const pageHeaders = ["cookie", "origin", "referer", "sec-fetch-site", "sec-fetch-mode", "sec-fetch-dest"]

const withoutPage = (headers: Headers): Headers => {
  const copy = new Headers(headers)
  for (const name of pageHeaders) copy.delete(name)
  return copy
}

export const layer = Layer.unwrap(
  Effect.gen(function* () {
    const routes = yield* AuthRoutes
    const limiter = yield* RateLimiter
    const { corsOrigins } = yield* Deployment
    const proxies = yield* TrustedProxies

    const handle = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest, url: URL) {
      const { method } = request
      const isForApps = appPaths.has(url.pathname)
      if (method === "POST") yield* isForApps ? limitAppsByAddress(limiter) : limitByAddress(limiter)
      yield* checkParameterCount
      const body = method === "POST" ? yield* readAnonymous(request) : ""
      const headers = new Headers(request.headers)
      const isForeign = isForApps && corsOrigins.includes(headers.get("origin") ?? "")
      const webRequest = new Request(url, {
        method,
        headers: isForeign ? withoutPage(headers) : headers,
        body: body === "" ? null : body
      })
      return yield* toServerResponse(url, yield* routes.handle(webRequest, yield* clientAddress))
    })

    const handler = Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
      // Uses a reserved host, because nothing may depend on the client's `Host` header.
      const url = new URL(request.url, "http://quarry.invalid")
      const handled = Effect.provideService(handle(request, url), TrustedProxies, proxies)
      return Effect.catchTag(handled, ["not_found", "rate_limited", "invalid_request"], (error) =>
        Effect.map(encodeError(url.pathname, error), ({ body, status }) =>
          HttpServerResponse.jsonUnsafe(body, { status })
        )
      )
    })

    return Layer.mergeAll(
      HttpRouter.add("GET", `${authPath}/*`, handler),
      HttpRouter.add("POST", `${authPath}/*`, handler)
    )
  })
)
