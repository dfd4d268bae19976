import { Context } from "effect"
import type { Headers } from "effect/http"
import { type HttpApiEndpoint, OpenApi } from "effect/http-api"
import { dashboardHeader, hidesCallingPage } from "../domain/accounts/CallingPage.ts"
import type { CredentialKind } from "../domain/accounts/Credential.ts"
import { isCrossOrigin, isOwnPage } from "./ownPage.ts"

/** Credentials that an endpoint accepts. None by default. */
export const Accepted = Context.Reference<ReadonlyArray<CredentialKind>>("quarry/http/Accepted", {
  defaultValue: () => []
})

/** Omits demo and marketplace (R69): generated clients send a key for each listed scheme, which the server rejects. */
const requirements: { readonly [K in CredentialKind]: ReadonlyArray<Readonly<Record<string, ReadonlyArray<string>>>> } =
  {
    key: [{ apiKey: [] }],
    oauth: [{ oauth: [] }],
    session: [{ session: [] }],
    marketplace: [],
    demo: []
  }

export const accepting = (...kinds: ReadonlyArray<CredentialKind>) =>
  Context.make(Accepted, kinds).pipe(
    Context.add(OpenApi.Override, { security: kinds.flatMap((kind) => requirements[kind]) })
  )

export const acceptedCredentials = (endpoint: HttpApiEndpoint.Top): ReadonlyArray<CredentialKind> =>
  Context.get(endpoint.annotations, Accepted)

export const SpendsCredits = Context.Reference<boolean>("quarry/http/SpendsCredits", { defaultValue: () => false })

/** Reports an invalid `Idempotency-Key` together with other invalid fields (R44). */
export const TakesIdempotencyKey = Context.Reference<boolean>("quarry/http/TakesIdempotencyKey", {
  defaultValue: () => false
})

/**
 * Protects session requests against CSRF (R25), because browsers attach the cookie to requests from any page. A change
 * must come from a page of this deployment. Spending must not come from another origin; if the browser does not name
 * the origin, the dashboard's header is required.
 */
export const sessionRuleOf = (endpoint: HttpApiEndpoint.Top, own: string): ((headers: Headers.Headers) => boolean) => {
  if (Context.get(endpoint.annotations, SpendsCredits)) {
    const needsHeader = hidesCallingPage(own)
    return (headers) => !isCrossOrigin(headers, own) && (!needsHeader || headers[dashboardHeaderName] !== undefined)
  }
  const isWrite = endpoint.method !== "GET" && acceptedCredentials(endpoint).every((kind) => kind === "session")
  return isWrite ? (headers) => isOwnPage(headers, own) : () => true
}

const dashboardHeaderName = dashboardHeader.toLowerCase()
