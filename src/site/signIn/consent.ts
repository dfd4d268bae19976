import { Effect, Redacted } from "effect"
import { HttpServerRequest } from "effect/http"
import { cookieValues } from "../../domain/accounts/Credential.ts"
import { signInPath } from "../../domain/accounts/OAuth.ts"
import { maxBudgetCredits } from "../../domain/credits/Budget.ts"
import { AuthorizationRequests } from "../../services/accounts/AuthorizationRequests.ts"
import { ConnectedApps } from "../../services/accounts/ConnectedApps.ts"
import { Sessions } from "../../services/accounts/Sessions.ts"
import * as pages from "../html/pages.ts"
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
  const { request, scopes, source } = yield* readAuthorizationRequest(query)
  const account = yield* Effect.result(sessionAccount)
  if (account._tag === "Failure") {
    const notice = "Your session has expired, or its account no longer exists. Sign in to continue."
    return yield* signInResponse(request, 401, { notice })
  }
  if (account.success === undefined) return signInRedirect(query)
  return pageResponse(pages.consent({ request, scopes, email: account.success.email }), { formTargets: [source] })
})

/** The limit in a form: undefined if it is empty, and `"invalid"` if it is not a number of credits. */
const dailyCreditsIn = (form: URLSearchParams): number | "invalid" | undefined => {
  const text = form.get("daily_credits")?.trim() ?? ""
  if (text === "") return undefined
  const credits = Number(text)
  return /^[1-9]\d{0,9}$/.test(text) && credits <= maxBudgetCredits ? credits : "invalid"
}

/** Stores the limit before the app gets its code, if the request is signed. Returns a page if the form is invalid. */
const limitApp = Effect.fnUntraced(function* (query: string, form: URLSearchParams) {
  const { appId, request, scopes, source } = yield* readAuthorizationRequest(query)
  const account = yield* Effect.catch(sessionAccount, () => Effect.undefined)
  if (account === undefined) return signInRedirect(query)
  const dailyCredits = dailyCreditsIn(form)
  if (dailyCredits === "invalid") {
    const notice = `The daily limit must be a whole number from 1 to ${maxBudgetCredits}, or empty.`
    const page = { request, scopes, email: account.email, notice, dailyCredits: form.get("daily_credits") ?? "" }
    return pageResponse(pages.consent(page), { status: 400, formTargets: [source] })
  }
  return yield* Effect.as((yield* ConnectedApps).limit(account.id, appId, dailyCredits), undefined)
})

export const submit = Effect.gen(function* () {
  const form = yield* readForm
  const query = canonicalQuery(form.get("request") ?? "")
  const requests = yield* AuthorizationRequests
  const decision = form.get("decision") === "allow" ? "allow" : "deny"
  const unlimited = decision === "allow" ? yield* limitApp(query, form) : undefined
  if (unlimited !== undefined) return unlimited
  return yield* requests.decide(yield* currentBrowser, query, decision).pipe(
    Effect.map(redirectResponse),
    Effect.catchTags({
      unauthorized: () => Effect.succeed(signInRedirect(query)),
      AuthorizationRequestExpired: () => Effect.fail(requestExpired),
      TooManyAttempts: ({ retryAfterSeconds }) => Effect.succeed(withRetryAfter(tooManyRequests, retryAfterSeconds))
    })
  )
})
