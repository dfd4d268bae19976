import type { IpNetwork } from "effect/net"
import type { Account } from "./Account.ts"
import type { KeyMode } from "./ApiKey.ts"
import { requestsPerMinute } from "./Plan.ts"
import type { Target } from "./Target.ts"

/** The caller after authentication. */
export type Principal =
  | KeyPrincipal
  | SessionPrincipal
  | AppPrincipal
  | MarketplacePrincipal
  | KeylessPrincipal
  | DemoPrincipal

/** A principal with an account. */
export type AccountPrincipal = Exclude<Principal, DemoPrincipal>

/** An API key. Live and test keys both spend the account's credits (R26). */
export interface KeyPrincipal {
  readonly _tag: "key"
  readonly account: Account
  readonly key: {
    readonly id: string
    readonly label: string
    readonly mode: KeyMode
    /** Absent where the key has none. */
    readonly bounds?: PrincipalBounds | undefined
  }
}

/** The bounds of a key as requests are judged by them (R50). Its end is judged where it is authenticated. */
export interface PrincipalBounds {
  /** Names the budget that pays beside the account. */
  readonly budgetId: string | undefined
  readonly targets: ReadonlyArray<Target> | undefined
  readonly networks: ReadonlyArray<IpNetwork.IpNetwork> | undefined
}

/** A person with a session of the dashboard. */
export interface SessionPrincipal {
  readonly _tag: "session"
  readonly account: Account
  /** Id of the session. It is not the secret in the cookie. */
  readonly sessionId: string
}

/** An app that a person has authorized by OAuth to use the MCP endpoint. */
export interface AppPrincipal {
  readonly _tag: "oauth"
  readonly account: Account
}

/** A subscriber of the marketplace. The marketplace bills it, so that usage is counted without a limit (R23). */
export interface MarketplacePrincipal {
  readonly _tag: "marketplace"
  readonly account: Account
  readonly user: string
}

/** A caller without a credential from the operator's own network, who spends the credits of one account (R43). */
export interface KeylessPrincipal {
  readonly _tag: "keyless"
  readonly account: Account
}

/** A visitor of the keyless demo, identified by the client's network and without an account (R24). */
export interface DemoPrincipal {
  readonly _tag: "demo"
  /** The client's IPv4 address or IPv6 /64. */
  readonly network: string
}

/** The key's bounds; undefined for other credentials. */
export const boundsOf = (principal: Principal): PrincipalBounds | undefined =>
  principal._tag === "key" ? principal.key.bounds : undefined

/** The limit on requests of one credential in a rolling minute. */
export interface RateLimit {
  /** Name of the counter. */
  readonly credential: string
  readonly limit: number
}

const sessionFloorPerMinute = 120
const marketplacePerMinute = 1_200
/** Requests of one address. A batch is one of them. */
export const demoPerMinute = 5

/** The rate limit of a principal. Each key has a counter of its own, live and test keys with the plan's limit (R26). */
export const rateLimitOf = (principal: Principal): RateLimit => {
  switch (principal._tag) {
    case "key":
      return { credential: principal.key.id, limit: requestsPerMinute(principal.account.concurrency) }
    case "session":
      return {
        credential: `session:${principal.sessionId}`,
        limit: Math.max(requestsPerMinute(principal.account.concurrency), sessionFloorPerMinute)
      }
    // All apps of an account share one counter, because a person may authorize any number of them.
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

/** The attribution label of a search without one (R11). */
export const defaultSource = (principal: Principal): string => sources[principal._tag]
