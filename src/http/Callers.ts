import { Context } from "effect"
import type { Headers } from "effect/http"
import { type HttpApiEndpoint, OpenApi } from "effect/http-api"
import type { CredentialKind } from "../domain/Credential.ts"
import { isCrossOrigin, isOwnPage } from "./ownPage.ts"

/** The kinds of credential that an endpoint accepts. One that says nothing accepts nobody. */
export const Accepted = Context.Reference<ReadonlyArray<CredentialKind>>("quarry/http/Accepted", {
  defaultValue: () => []
})

/** How the document names the credentials: the keys are those of its `securitySchemes`. */
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

/** Says that requests to an endpoint may spend credits. */
export const SpendsCredits = Context.Reference<boolean>("quarry/http/SpendsCredits", { defaultValue: () => false })

/**
 * Which requests with a session an endpoint takes (R25), because a browser sends the session along with a request of any
 * page. What changes something must come from a page of ours; what spends credits must not say that it comes from
 * elsewhere.
 */
export const sessionRuleOf = (endpoint: HttpApiEndpoint.Top): ((headers: Headers.Headers, own: string) => boolean) => {
  if (Context.get(endpoint.annotations, SpendsCredits)) return (headers, own) => !isCrossOrigin(headers, own)
  const changes = endpoint.method !== "GET" && acceptedCredentials(endpoint).every((kind) => kind === "session")
  return changes ? isOwnPage : () => true
}
