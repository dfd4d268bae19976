import { Effect, Layer, Result, Schema } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { InvalidRequest, Issue, NotFound, RateLimited, Unauthorized } from "../../domain/errors.ts"
import { authPath } from "../../domain/OAuth.ts"
import { RateLimiter } from "../../services/RateLimiter.ts"
import { Sessions } from "../../services/Sessions.ts"
import { readAnonymous } from "../body.ts"
import { type Undeclared, undeclared, undeclaredResponse } from "../errors.ts"
import { limitByAddress } from "../middleware/addressLimit.ts"
import { clientAddress } from "../middleware/clientAddress.ts"
import { noStore } from "../middleware/securityHeaders.ts"

/** The words of a refusal, which are meant for people, and the fields that it is about, where there are any. */
const Refusal = Schema.Struct({ message: Schema.NonEmptyString, issues: Schema.optionalKey(Schema.Array(Issue)) })

const refusalOf = (text: string): typeof Refusal.Type => {
  const refusal = Schema.decodeUnknownResult(Schema.fromJsonString(Refusal))(text)
  return Result.isSuccess(refusal) ? refusal.success : { message: "Signing in was refused." }
}

/** A refusal of the library in the API's codes, which have fewer statuses than it uses (R3). */
const translated = (
  status: number,
  { issues, message }: typeof Refusal.Type,
  retryAfterSeconds: number
): Undeclared => {
  if (status === 401 || status === 403) return new Unauthorized({ message })
  if (status === 404) return new NotFound({ message })
  if (status === 429) return new RateLimited({ message, retryAfterSeconds })
  return issues === undefined ? InvalidRequest.whole(message) : InvalidRequest.fromIssues(issues)
}

/** Refusals of apps' requests have a form of their own, which apps read (RFC 6749 section 5.2, RFC 7591 section 3.2.2). */
const OAuthRefusal = Schema.Struct({ error: Schema.NonEmptyString })

const isOAuthRefusal = ({ pathname }: URL, status: number, text: string): boolean =>
  pathname.startsWith(`${authPath}/oauth2/`) &&
  [400, 401, 403].includes(status) &&
  Result.isSuccess(Schema.decodeUnknownResult(Schema.fromJsonString(OAuthRefusal))(text))

/** What a refusal still says in headers: cookies that end, and how long to wait. */
const refused = Effect.fnUntraced(function* (response: Response, text: string) {
  const retryAfter = response.headers.get("x-retry-after")
  const error = translated(response.status, refusalOf(text), Math.max(1, Number(retryAfter) || 1))
  const { body, status } = yield* undeclared(error)
  const headers = new Headers({ "content-type": "application/json" })
  for (const cookie of response.headers.getSetCookie()) headers.append("set-cookie", cookie)
  if (error._tag === "rate_limited") headers.set("retry-after", String(error.retryAfterSeconds))
  return HttpServerResponse.fromWeb(new Response(JSON.stringify(body), { status, headers }))
})

/**
 * Sign-in. Its answers are the sign-in library's own, but for refusals, which carry the envelope; what it does not offer
 * is not found like anything else (R3).
 */
export const layer = Layer.unwrap(
  Effect.gen(function* () {
    const sessions = yield* Sessions
    const limiter = yield* RateLimiter
    const answer = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const { headers, method } = request
      if (method === "POST") yield* limitByAddress(limiter)
      const body = method === "POST" ? yield* readAnonymous(request) : ""
      // The host is nobody's: which one a client wrote into its request decides nothing.
      const url = new URL(request.url, "http://quarry.invalid")
      const sent = new Request(url, { method, headers, body: body === "" ? null : body })
      const response = yield* sessions.handle(sent, yield* clientAddress)
      // Read to its end here: a stream that breaks off later could not be answered any more.
      const text = yield* Effect.promise(() => response.text())
      if (response.status >= 400 && !isOAuthRefusal(url, response.status, text)) return yield* refused(response, text)
      const { headers: answered, status } = response
      const answer = HttpServerResponse.fromWeb(new Response(text === "" ? null : text, { status, headers: answered }))
      return HttpServerResponse.setHeaders(answer, noStore)
    }).pipe(Effect.catchTag(["not_found", "rate_limited", "invalid_request"], undeclaredResponse))

    return Layer.mergeAll(HttpRouter.add("GET", "/api/auth/*", answer), HttpRouter.add("POST", "/api/auth/*", answer))
  })
)
