import { Context } from "effect"
import type { Headers } from "effect/http"
import { type HttpApiEndpoint, OpenApi } from "effect/http-api"
import { dashboardHeader, hidesCallingPage } from "../domain/CallingPage.ts"
import type { CredentialKind } from "../domain/Credential.ts"
import { isCrossOrigin, isOwnPage } from "./ownPage.ts"

/** The kinds of credential that an endpoint accepts. Without this annotation it accepts none. */
export const Accepted = Context.Reference<ReadonlyArray<CredentialKind>>("quarry/http/Accepted", {
  defaultValue: () => []
})

/** The OpenAPI security requirement of each kind of credential. Its keys are those of the `securitySchemes`. */
const requirements: { readonly [K in CredentialKind]: Readonly<Record<string, ReadonlyArray<string>>> } = {
  key: { apiKey: [] },
  oauth: { oauth: [] },
  session: { session: [] },
  marketplace: { marketplaceSecret: [], marketplaceUser: [] },
  demo: { demoOrigin: [] }
}

/** Annotates an endpoint with the credentials it accepts, for `Authentication` and for the document. */
export const accepting = (...kinds: ReadonlyArray<CredentialKind>) =>
  Context.make(Accepted, kinds).pipe(
    Context.add(OpenApi.Override, { security: kinds.map((kind) => requirements[kind]) })
  )

export const acceptedCredentials = (endpoint: HttpApiEndpoint.Top): ReadonlyArray<CredentialKind> =>
  Context.get(endpoint.annotations, Accepted)

/** Annotates an endpoint whose requests may spend credits. */
export const SpendsCredits = Context.Reference<boolean>("quarry/http/SpendsCredits", { defaultValue: () => false })

/**
 * The check of an endpoint against cross-site request forgery (R25): a browser sends the session cookie with requests of
 * any page. A request that changes something must come from a page of this deployment. One that spends credits must not
 * come from a page of another origin; where browsers do not say which page it was, it must have the dashboard's header.
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
