import type { Account } from "./Account.ts"
import type { KeyMode } from "./ApiKey.ts"
import { requestsPerMinute } from "./Plan.ts"

/** Who is calling. */
export type Principal = KeyPrincipal | SessionPrincipal | MarketplacePrincipal | DemoPrincipal

/** Who is calling with an account. */
export type AccountPrincipal = Exclude<Principal, DemoPrincipal>

/** An API key, live or test: both spend the account's credits (R26). */
export interface KeyPrincipal {
  readonly _tag: "key"
  readonly account: Account
  readonly key: {
    readonly id: string
    readonly label: string
    readonly mode: KeyMode
  }
}

/** A person who is signed in to the dashboard. */
export interface SessionPrincipal {
  readonly _tag: "session"
  readonly account: Account
  /** Names the session; not what the cookie holds. */
  readonly sessionId: string
}

/** A subscriber of the marketplace, metered and billed there: counted and never refused (R23). */
export interface MarketplacePrincipal {
  readonly _tag: "marketplace"
  readonly account: Account
  readonly user: string
}

/** A visitor of the keyless demo, known by address only and without an account (R24). */
export interface DemoPrincipal {
  readonly _tag: "demo"
  /** The client's IPv4 address or IPv6 /64. */
  readonly network: string
}

/** What a principal's requests are counted under, and how many a rolling minute admits. */
export interface RateLimit {
  readonly credential: string
  readonly limit: number
}

const sessionFloorPerMinute = 120
const marketplacePerMinute = 1_200
const demoPerMinute = 5

/** Each key has its own counter; live and test keys have their plan's figure (R26). */
export const rateLimitOf = (principal: Principal): RateLimit => {
  switch (principal._tag) {
    case "key":
      return { credential: principal.key.id, limit: requestsPerMinute(principal.account.concurrency) }
    case "session":
      return {
        credential: `session:${principal.sessionId}`,
        limit: Math.max(requestsPerMinute(principal.account.concurrency), sessionFloorPerMinute)
      }
    case "marketplace":
      return { credential: `marketplace:${principal.user}`, limit: marketplacePerMinute }
    case "demo":
      return { credential: `demo:${principal.network}`, limit: demoPerMinute }
  }
}

const sources = { key: "api", session: "dashboard", marketplace: "marketplace", demo: "demo" } as const

/** The attribution label of a search whose caller gave none (R11). */
export const defaultSource = (principal: Principal): string => sources[principal._tag]
