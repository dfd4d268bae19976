import type { IpNetwork } from "effect/net"
import type { Budgets } from "../credits/Budget.ts"
import { requestsPerMinute } from "../credits/Plan.ts"
import type { KeyMode } from "../keys/ApiKey.ts"
import type { AnyTarget } from "../search/Target.ts"
import type { Account } from "./Account.ts"
import type { ToolScope } from "./OAuth.ts"
import type { Role } from "./Role.ts"

export type Principal =
  | KeyPrincipal
  | SessionPrincipal
  | AppPrincipal
  | MarketplacePrincipal
  | KeylessPrincipal
  | DemoPrincipal

export type AccountPrincipal = Exclude<Principal, DemoPrincipal>

export interface KeyPrincipal {
  readonly _tag: "key"
  readonly account: Account
  /** The person who created the key. */
  readonly personId?: string | undefined
  readonly key: {
    readonly id: string
    readonly label: string
    readonly mode: KeyMode
    readonly bounds?: PrincipalBounds | undefined
  }
}

/** Checked for each request (R50). Authentication has already checked the expiry. */
export interface PrincipalBounds {
  readonly budgets: Budgets | undefined
  readonly targets: ReadonlyArray<AnyTarget> | undefined
  readonly networks: ReadonlyArray<IpNetwork.IpNetwork> | undefined
}

export interface SessionPrincipal {
  readonly _tag: "session"
  /** The one of the person's accounts that the session uses. */
  readonly account: Account
  readonly sessionId: string
  readonly personId: string
  readonly memberId: string
  readonly role: Role
  /** True for ten minutes after the person signed in (R66). */
  readonly isFresh: boolean
  readonly bounds?: PrincipalBounds | undefined
  /** True until the person has set up a second factor that the operator requires (R66). */
  readonly needsSecondFactor: boolean
}

export interface AppPrincipal {
  readonly _tag: "oauth"
  readonly account: Account
  readonly personId: string
  readonly scopes: ReadonlyArray<ToolScope>
  readonly bounds?: PrincipalBounds | undefined
}

export interface MarketplacePrincipal {
  readonly _tag: "marketplace"
  readonly account: Account
  readonly user: string
}

/** A caller in the operator's network without a credential. The operator's chosen account pays (R43). */
export interface KeylessPrincipal {
  readonly _tag: "keyless"
  readonly account: Account
}

export interface DemoPrincipal {
  readonly _tag: "demo"
  readonly network: string
}

export const boundsOf = (principal: Principal): PrincipalBounds | undefined => {
  if (principal._tag === "key") return principal.key.bounds
  return principal._tag === "oauth" || principal._tag === "session" ? principal.bounds : undefined
}

/** The bounds of a key or an app, and those of the member that it belongs to (R67). */
export const withMember = (
  own: PrincipalBounds | undefined,
  member: PrincipalBounds | undefined
): PrincipalBounds | undefined => {
  if (own === undefined || member === undefined) return own ?? member
  const budgets = { ...own.budgets, ...member.budgets }
  return {
    budgets: own.budgets === undefined && member.budgets === undefined ? undefined : budgets,
    targets: own.targets?.filter((target) => member.targets?.includes(target) ?? true) ?? member.targets,
    networks: own.networks
  }
}

export interface RateLimit {
  readonly credential: string
  readonly limit: number
}

const sessionFloorPerMinute = 120
const marketplacePerMinute = 1_200
/** Per client network. A batch counts as one request. */
export const demoPerMinute = 5

/** Live and test keys have a counter each, with the same limit (R26). */
export const rateLimitOf = (principal: Principal): RateLimit => {
  switch (principal._tag) {
    case "key":
      return { credential: principal.key.id, limit: requestsPerMinute(principal.account.concurrency) }
    case "session":
      return {
        credential: `session:${principal.sessionId}`,
        limit: Math.max(requestsPerMinute(principal.account.concurrency), sessionFloorPerMinute)
      }
    // All apps of an account share a counter, because a person can authorize any number of them.
    case "oauth":
      return {
        credential: `oauth:${principal.account.id}`,
        limit: requestsPerMinute(principal.account.concurrency)
      }
    case "keyless":
      return {
        credential: `keyless:${principal.account.id}`,
        limit: requestsPerMinute(principal.account.concurrency)
      }
    case "marketplace":
      return { credential: `marketplace:${principal.user}`, limit: marketplacePerMinute }
    case "demo":
      return { credential: `demo:${principal.network}`, limit: demoPerMinute }
  }
}

const sources = {
  key: "api",
  session: "dashboard",
  oauth: "mcp",
  marketplace: "marketplace",
  keyless: "compat",
  demo: "demo"
} as const

export const defaultSource = (principal: Principal): string => sources[principal._tag]
