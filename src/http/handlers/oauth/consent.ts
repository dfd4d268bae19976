import { Effect, Redacted } from "effect"
import { HttpServerRequest } from "effect/http"
import { cookieValues } from "../../../domain/accounts/Credential.ts"
import { signInPath } from "../../../domain/accounts/OAuth.ts"
import { AuthorizationRequests } from "../../../services/accounts/AuthorizationRequests.ts"
import { Sessions } from "../../../services/accounts/Sessions.ts"
import * as pages from "../../html/pages.ts"
import { canonicalQuery, readAuthorizationRequest } from "./authorizationRequest.ts"
import { currentBrowser, queryText, readForm } from "./browser.ts"
import { pageResponse, redirectResponse, requestExpired, tooManyRequests, withRetryAfter } from "./responses.ts"
import { signInResponse } from "./signIn.ts"

const signInRedirect = (query: string) => redirectResponse({ location: `${signInPath}?${query}`, cookies: [] })

const sessionAccount = Effect.gen(function* () {
  const sessions = yield* Sessions
  const { headers } = yield* HttpServerRequest.HttpServerRequest
  const [cookie, second] = cookieValues(headers.cookie, sessions.cookieName)
  if (cookie === undefined || second !== undefined) return undefined
  return (yield* sessions.authenticate(Redacted.make(cookie))).account
})

export const show = Effect.gen(function* () {
  const query = canonicalQuery(yield* queryText)
  const { request, source } = yield* readAuthorizationRequest(query)
  const account = yield* Effect.result(sessionAccount)
  if (account._tag === "Failure") {
    const notice = "Your session has expired, or its account no longer exists. Sign in to continue."
    return yield* signInResponse(request, 401, { notice })
  }
  if (account.success === undefined) return signInRedirect(query)
  return pageResponse(pages.consent({ request, email: account.success.email }), { formTargets: [source] })
})

export const submit = Effect.gen(function* () {
  const form = yield* readForm
  const query = canonicalQuery(form.get("request") ?? "")
  const requests = yield* AuthorizationRequests
  const decision = form.get("decision") === "allow" ? "allow" : "deny"
  return yield* requests.decide(yield* currentBrowser, query, decision).pipe(
    Effect.map(redirectResponse),
    Effect.catchTags({
      unauthorized: () => Effect.succeed(signInRedirect(query)),
      AuthorizationRequestExpired: () => Effect.fail(requestExpired),
      TooManyAttempts: ({ retryAfterSeconds }) => Effect.succeed(withRetryAfter(tooManyRequests, retryAfterSeconds))
    })
  )
})
