import type { Refusal } from "../../domain/providers/Refusal.ts"

/** Facts about a waiting search that a provider's call limits need. One search may need several calls. */
export interface Turn {
  /** Accounts share a provider's calls fairly. Empty for calls that no account pays for. */
  readonly account: string
  /** Milliseconds that a call may wait from now on. */
  readonly maxWaitMs: () => number
  /** Called as a call leaves. Returns a refusal if it must not be sent any more. */
  readonly send: () => Refusal | undefined
}

/** For calls other than searches. */
export const unsharedTurn = (maxWaitMs: number): Turn => ({
  account: "",
  maxWaitMs: () => maxWaitMs,
  send: () => undefined
})

/** A provider's call limits, as set by the operator. */
export interface CallLimits {
  /** Milliseconds that a call of this account would wait, as far as this process knows. */
  readonly expectedWaitMs: (account: string, now: number) => number
}
