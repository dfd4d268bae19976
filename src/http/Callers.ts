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

/**
 * Security requirements in the public document (R69). It omits the demo and the marketplace, because generated clients
 * send their key in the place of every listed scheme, and the server rejects a request with those headers beside a key.
 */
const requirements: { readonly [K in CredentialKind]: ReadonlyArray<Readonly<Record<string, ReadonlyArray<string>>>> } =
  {
    key: [{ apiKey: [] }],
    oauth: [{ oauth: [] }],
    session: [{ session: [] }],
    marketplace: [],
    demo: []
  }

/** Declares the accepted credentials, for `Authentication` and for the document. */
export const accepting = (...kinds: ReadonlyArray<CredentialKind>) =>
  Context.make(Accepted, kinds).pipe(
    Context.add(OpenApi.Override, { security: kinds.flatMap((kind) => requirements[kind]) })
  )

export const acceptedCredentials = (endpoint: HttpApiEndpoint.Top): ReadonlyArray<CredentialKind> =>
  Context.get(endpoint.annotations, Accepted)

/** Marks endpoints that can spend credits. */
export const SpendsCredits = Context.Reference<boolean>("quarry/http/SpendsCredits", { defaultValue: () => false })

/**
 * Protects session requests against CSRF (R25), because browsers attach the cookie to requests from any page. A change
 * must come from a page of this deployment. Spending credits must not come from another origin; if the browser does
 * not name the origin, the dashboard's header is required.
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
