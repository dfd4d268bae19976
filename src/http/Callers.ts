import { Context } from "effect"
import { type HttpApiEndpoint, OpenApi } from "effect/http-api"
import type { CredentialKind } from "../domain/Credential.ts"

/** The kinds of credential that an endpoint accepts. One that says nothing accepts nobody. */
export const Accepted = Context.Reference<ReadonlyArray<CredentialKind>>("quarry/http/Accepted", {
  defaultValue: () => []
})

/** How the document names the credentials: the keys are those of its `securitySchemes`. */
const requirements: { readonly [K in CredentialKind]: Readonly<Record<string, ReadonlyArray<string>>> } = {
  key: { apiKey: [] },
  session: { session: [] },
  marketplace: { marketplaceSecret: [], marketplaceUser: [] },
  demo: { demoOrigin: [] }
}

/** Annotates an endpoint with the credentials it accepts, for `Authentication` and for the document. */
export const accepting = (...kinds: ReadonlyArray<CredentialKind>) =>
  Context.make(Accepted, kinds).pipe(
    Context.add(OpenApi.Override, { security: kinds.map((kind) => requirements[kind]) })
  )

export const acceptedBy = (endpoint: HttpApiEndpoint.Top): ReadonlyArray<CredentialKind> =>
  Context.get(endpoint.annotations, Accepted)

/**
 * Says that a session is taken from this deployment's own pages only, where others may call too. Endpoints that take
 * nothing but a session, and change something, need not say so.
 */
export const SessionsFromOwnPages = Context.Reference<boolean>("quarry/http/SessionsFromOwnPages", {
  defaultValue: () => false
})

/**
 * Whether a session must come from a page of this deployment (R25): the request changes something, and a browser would
 * send the session along with a request that any page makes.
 */
export const ownPagesOnly = (endpoint: HttpApiEndpoint.Top): boolean =>
  Context.get(endpoint.annotations, SessionsFromOwnPages) ||
  (endpoint.method !== "GET" && acceptedBy(endpoint).every((kind) => kind === "session"))
