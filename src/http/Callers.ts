import { Context, Record } from "effect"
import type { Headers } from "effect/http"
import { type HttpApiEndpoint, type HttpApiGroup, OpenApi } from "effect/http-api"
import { dashboardHeader, hidesCallingPage } from "../domain/accounts/CallingPage.ts"
import type { CredentialKind } from "../domain/accounts/Credential.ts"
import { everyRole, type Role } from "../domain/accounts/Role.ts"
import { isCrossOrigin, isOwnPage } from "./ownPage.ts"

/** Credentials that an endpoint accepts. None by default. */
export const Accepted = Context.Reference<ReadonlyArray<CredentialKind>>("quarry/references/Accepted", {
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

/** Roles whose sessions an endpoint serves (R67). */
export const AllowedRoles = Context.Reference<ReadonlyArray<Role>>("quarry/references/AllowedRoles", {
  defaultValue: () => []
})

const annotationsOf = (kinds: ReadonlyArray<CredentialKind>, roles: ReadonlyArray<Role>) =>
  Context.make(Accepted, kinds).pipe(
    Context.add(AllowedRoles, roles),
    Context.add(OpenApi.Override, {
      security: kinds.flatMap((kind) => requirements[kind]),
      ...(roles.length === 0 ? {} : { "x-roles": roles })
    })
  )

export const accepting = (...kinds: ReadonlyArray<Exclude<CredentialKind, "session">>) => annotationsOf(kinds, [])

export const acceptedCredentials = (endpoint: HttpApiEndpoint.Top): ReadonlyArray<CredentialKind> =>
  Context.get(endpoint.annotations, Accepted)

export const allowedRoles = (endpoint: HttpApiEndpoint.Top): ReadonlyArray<Role> =>
  Context.get(endpoint.annotations, AllowedRoles)

type RolesOf<Group extends HttpApiGroup.Constraint> = {
  readonly [Name in keyof Group["endpoints"]]: ReadonlyArray<Role>
}

const acceptingSessionsOf = <Group extends HttpApiGroup.Constraint>(
  group: Group,
  rolesOf: (name: string) => ReadonlyArray<Role>
): Group => {
  // Every group is of this type, whose parameter for endpoints is invariant.
  const plain = group as unknown as HttpApiGroup.Top
  const endpoints = Record.map(plain.endpoints, (endpoint, name) => {
    const others = acceptedCredentials(endpoint)
    const kinds = Record.keys(requirements).filter((kind) => kind === "session" || others.includes(kind))
    return endpoint.annotateMerge(annotationsOf(kinds, rolesOf(name)))
  })
  // Annotations do not change the type. A group has no method that annotates each endpoint differently.
  return Object.assign(plain.annotateMerge(Context.empty()), { endpoints }) as unknown as Group
}

/**
 * Lets sessions use all endpoints of a group, each with the roles that may. An endpoint without roles does not compile.
 */
export const acceptingSessions =
  <const Roles extends Readonly<Record<string, ReadonlyArray<Role>>>>(roles: Roles) =>
  <Group extends HttpApiGroup.Constraint>(
    group: Group & (Roles extends RolesOf<Group> ? unknown : RolesOf<Group>)
  ): Group =>
    acceptingSessionsOf<Group>(group, (name) => roles[name] ?? [])

/** For the operator's console, where the role in a customer's account means nothing. */
export const acceptingAllSessions = <Group extends HttpApiGroup.Constraint>(group: Group): Group =>
  acceptingSessionsOf(group, () => everyRole)

/** For actions that a stranger at an open browser must not do (R66). */
export const NeedsFreshSignIn = Context.Reference<boolean>("quarry/references/NeedsFreshSignIn", {
  defaultValue: () => false
})

export const SpendsCredits = Context.Reference<boolean>("quarry/references/SpendsCredits", {
  defaultValue: () => false
})

/** Reports an invalid `Idempotency-Key` together with other invalid fields (R44). */
export const TakesIdempotencyKey = Context.Reference<boolean>("quarry/references/TakesIdempotencyKey", {
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
