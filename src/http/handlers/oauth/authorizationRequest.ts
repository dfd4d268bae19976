import { Effect } from "effect"
import { AuthorizationRequests } from "../../../services/AuthorizationRequests.ts"
import type { AppRequest } from "../../pages/pages.ts"
import { currentBrowser } from "./browser.ts"
import { ErrorPage, requestExpired, tooManyRequests, unknownApp, withRetryAfter } from "./responses.ts"

/** The address of an app: as text for people, and as a source of the policy that lets a form lead there. */
const destinationOf = (redirectUri: string): { readonly text: string; readonly source: string } => {
  const url = URL.parse(redirectUri)
  if (url === null) return { text: "", source: "'self'" }
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    return { text: `an app on this device (${url.protocol})`, source: url.protocol }
  }
  // A policy cannot name an IPv6 address. A host with `;` in it would begin another directive.
  const source = /^https?:\/\/[a-z0-9.-]+(?::\d+)?$/.test(url.origin) ? url.origin : url.protocol
  return { text: url.protocol === "http:" ? `an app on this device (${url.host})` : url.host, source }
}

/** One spelling of a signed query that a browser has sent, so that it fits in a `Location` header. */
export const canonicalQuery = (query: string): string => new URLSearchParams(query).toString()

/** The authorization request of a signed query, for a page to show. Fails with an error page. */
export const readAuthorizationRequest = Effect.fnUntraced(function* (query: string) {
  const requests = yield* AuthorizationRequests
  const { appName, redirectUri } = yield* requests.describe(yield* currentBrowser, query).pipe(
    Effect.catchTags({
      AuthorizationRequestExpired: () => Effect.fail(requestExpired),
      UnknownApp: () => Effect.fail(unknownApp),
      TooManyAttempts: ({ retryAfterSeconds }) =>
        Effect.fail(new ErrorPage({ response: withRetryAfter(tooManyRequests, retryAfterSeconds) }))
    })
  )
  const { source, text } = destinationOf(redirectUri)
  const request: AppRequest = { query, appName: appName ?? "An app without a name", destination: text }
  return { request, source }
})

/** The authorization request that a form carries. */
export const authorizationRequestIn = (form: URLSearchParams) =>
  readAuthorizationRequest(canonicalQuery(form.get("request") ?? ""))
