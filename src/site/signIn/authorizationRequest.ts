import { Effect } from "effect"
import { verifiedHostOf } from "../../domain/accounts/ClientMetadata.ts"
import { AuthorizationRequests } from "../../services/accounts/AuthorizationRequests.ts"
import type { AppRequest } from "../html/pages.ts"
import { currentBrowser } from "./browser.ts"
import { ErrorPage, requestExpired, tooManyRequests, unknownApp, withRetryAfter } from "./responses.ts"

/** The redirect address as text for people, and as a CSP source that lets the form redirect there. */
const destinationOf = (redirectUri: string): { readonly text: string; readonly source: string } => {
  const url = URL.parse(redirectUri)
  if (url === null) return { text: "", source: "'self'" }
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    return { text: `an app on this device (${url.protocol})`, source: url.protocol }
  }
  // CSP cannot express an IPv6 address, and a `;` in the host would start another directive.
  const source = /^https?:\/\/[a-z0-9.-]+(?::\d+)?$/.test(url.origin) ? url.origin : url.protocol
  return { text: url.protocol === "http:" ? `an app on this device (${url.host})` : url.host, source }
}

/** Normalizes a signed query from the browser so that it is valid in a `Location` header. */
export const canonicalQuery = (query: string): string => new URLSearchParams(query).toString()

export const readAuthorizationRequest = Effect.fnUntraced(function* (query: string) {
  const requests = yield* AuthorizationRequests
  const { appId, appName, redirectUri, scopes } = yield* requests.describe(yield* currentBrowser, query).pipe(
    Effect.catchTags({
      AuthorizationRequestExpired: () => Effect.fail(requestExpired),
      UnknownApp: () => Effect.fail(unknownApp),
      TooManyAttempts: ({ retryAfterSeconds }) =>
        Effect.fail(new ErrorPage({ response: withRetryAfter(tooManyRequests, retryAfterSeconds) }))
    })
  )
  const { source, text } = destinationOf(redirectUri)
  const request: AppRequest = {
    query,
    appName: appName ?? "An unnamed app",
    verifiedHost: verifiedHostOf(appId),
    destination: text,
    isOnDevice: !source.startsWith("https:")
  }
  return { request, source, appId, scopes }
})
