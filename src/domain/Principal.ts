import type { Account } from "./Account.ts"
import type { KeyMode } from "./ApiKey.ts"
import { requestsPerMinute } from "./Plan.ts"

/** Who is calling. */
export type Principal = KeyPrincipal

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

/** What a principal's requests are counted under, and how many a rolling minute admits. */
export interface RateLimit {
  readonly credential: string
  readonly limit: number
}

/** Each key has its own counter; live and test keys have their plan's figure (R26). */
export const rateLimitOf = (principal: Principal): RateLimit => ({
  credential: principal.key.id,
  limit: requestsPerMinute(principal.account.concurrency)
})

/** The attribution label of a search whose caller gave none (R11). */
export const defaultSource = (_principal: Principal): string => "api"
