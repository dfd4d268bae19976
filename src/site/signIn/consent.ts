import { Effect } from "effect"
import { consentPath, enrollPath, signInPath } from "../../domain/accounts/OAuth.ts"
import type { SessionPrincipal } from "../../domain/accounts/Principal.ts"
import { builders, forbiddenTo } from "../../domain/accounts/Role.ts"
import { maxBudgetCredits } from "../../domain/credits/Budget.ts"
import { AuthorizationRequests } from "../../services/accounts/AuthorizationRequests.ts"
import { ConnectedApps } from "../../services/accounts/ConnectedApps.ts"
import { Members } from "../../services/accounts/Members.ts"
import * as pages from "../html/pages.ts"
import { canonicalQuery, readAuthorizationRequest } from "./authorizationRequest.ts"
import { currentBrowser, home, queryText, readForm } from "./browser.ts"
import { currentSession } from "./currentSession.ts"
import { destinationOfApp } from "./destination.ts"
import {
  ErrorPage,
  pageResponse,
  redirectResponse,
  requestExpired,
  tooManyRequests,
  withRetryAfter
} from "./responses.ts"
import { signInResponse } from "./signIn.ts"

const signInRedirect = (query: string) => redirectResponse({ location: `${signInPath}?${query}`, cookies: [] })

const consentRedirect = (query: string) => redirectResponse({ location: `${consentPath}?${query}`, cookies: [] })

/** The page on which a person sets up the second factor that the operator requires (R66). */
const enrollRedirect = (query: string) =>
  redirectResponse({
    location: `${enrollPath}?${new URLSearchParams({ next: `${consentPath}?${query}` })}`,
    cookies: []
  })

const notAllowed = ({ role }: SessionPrincipal) =>
  ErrorPage.of(403, "You cannot connect apps to this account", forbiddenTo(role, builders).message, [
    { text: "Open the dashboard", path: home }
  ])

/** The page's part about the person. Fails if the person's role does not include searches. */
const aboutPerson = Effect.fnUntraced(function* (session: SessionPrincipal) {
  const { accounts } = yield* (yield* Members).accountsOf(session.personId)
  const others = accounts.filter(({ accountId, role }) => accountId !== session.account.id && builders.includes(role))
  if (!builders.includes(session.role) && others.length === 0) return yield* notAllowed(session)
  return { account: { id: session.account.id, email: session.account.email }, others }
})

export const show = Effect.gen(function* () {
  const query = canonicalQuery(yield* queryText)
  const { request, scopes, source } = yield* readAuthorizationRequest(query)
  const session = yield* Effect.result(currentSession)
  if (session._tag === "Failure") {
    const notice = "Your session has expired, or its account no longer exists. Sign in to continue."
    return yield* signInResponse(destinationOfApp(request), 401, { notice })
  }
  if (session.success === undefined) return signInRedirect(query)
  if (session.success.needsSecondFactor) return enrollRedirect(query)
  const person = yield* aboutPerson(session.success)
  return pageResponse(pages.consent({ request, scopes, ...person }), { formTargets: [source] })
})

/** The limit in a form: undefined if it is empty, and `"invalid"` if it is not a number of credits. */
const dailyCreditsIn = (form: URLSearchParams): number | "invalid" | undefined => {
  const text = form.get("daily_credits")?.trim() ?? ""
  if (text === "") return undefined
  const credits = Number(text)
  return /^[1-9]\d{0,9}$/.test(text) && credits <= maxBudgetCredits ? credits : "invalid"
}

/** Stores the limit before the app gets its code, if the request is signed. Returns a page if the form is invalid. */
const limitApp = Effect.fnUntraced(function* (
  query: string,
  form: URLSearchParams,
  session: SessionPrincipal | undefined
) {
  const { appId, request, scopes, source } = yield* readAuthorizationRequest(query)
  if (session === undefined) return signInRedirect(query)
  // Another tab may have switched the account since the page was shown.
  if ((form.get("shown_account") ?? session.account.id) !== session.account.id) return consentRedirect(query)
  if (!builders.includes(session.role)) return yield* notAllowed(session)
  const dailyCredits = dailyCreditsIn(form)
  if (dailyCredits === "invalid") {
    const notice = `The daily limit must be a whole number from 1 to ${maxBudgetCredits}, or empty.`
    const given = { notice, dailyCredits: form.get("daily_credits") ?? "" }
    const page = { request, scopes, ...(yield* aboutPerson(session)), ...given }
    return pageResponse(pages.consent(page), { status: 400, formTargets: [source] })
  }
  return yield* Effect.as((yield* ConnectedApps).limit(session.account.id, appId, dailyCredits), undefined)
})

const enterAccount = Effect.fnUntraced(function* (query: string, form: URLSearchParams, session: SessionPrincipal) {
  const members = yield* Members
  yield* Effect.ignore(members.enter(session.sessionId, form.get("account") ?? ""))
  return consentRedirect(query)
})

export const submit = Effect.gen(function* () {
  const form = yield* readForm
  const query = canonicalQuery(form.get("request") ?? "")
  const requests = yield* AuthorizationRequests
  const session = yield* Effect.catch(currentSession, () => Effect.undefined)
  if (session?.needsSecondFactor === true) return enrollRedirect(query)
  if (session !== undefined && form.get("decision") === "switch") return yield* enterAccount(query, form, session)
  const decision = form.get("decision") === "allow" ? "allow" : "deny"
  const unlimited = decision === "allow" ? yield* limitApp(query, form, session) : undefined
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
