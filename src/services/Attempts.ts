import type { LoggedReason, LoggedRefusal } from "../domain/LogEntry.ts"
import type { RefusalReason } from "../domain/Refusal.ts"

/** The most refusals of one log entry, and the longest name in one: an operator may configure many providers. */
const maxRefusals = 8
const maxNameCharacters = 64

interface Attempt {
  readonly provider: string
  readonly startedAt: number
  /** Undefined while it runs, and after an answer. */
  reason: LoggedReason | undefined
  /** Undefined while it runs. */
  endedAt: number | undefined
}

/** The attempts of one search, from which its log entry gets the reasons of refusals. Times are Unix milliseconds. */
export class Attempts {
  private readonly attempts: Array<Attempt> = []
  private readonly leftOut: Array<Attempt> = []

  /** Adds an attempt that starts now. The function that it returns records the attempt's end. */
  start(provider: string, now: number): (now: number, reason?: RefusalReason) => void {
    const attempt: Attempt = { provider, startedAt: now, reason: undefined, endedAt: undefined }
    this.attempts.push(attempt)
    return (now, reason) => {
      attempt.endedAt = now
      attempt.reason = reason
    }
  }

  /** Adds a provider that is not called. */
  leaveOut(provider: string, reason: "unserved" | "cool_down", now: number): void {
    this.leftOut.push({ provider, startedAt: now, endedAt: now, reason })
  }

  /**
   * The refusals until now. For a search that failed these include attempts that still run, whose time has ended, and
   * providers that were left out.
   */
  refusals(hasFailed: boolean, now: number): ReadonlyArray<LoggedRefusal> {
    const refusals: Array<LoggedRefusal> = []
    for (const { endedAt = now, provider, startedAt, reason = "timeout" } of this.entries(hasFailed)) {
      if (refusals.length === maxRefusals) break
      refusals.push({ provider: provider.slice(0, maxNameCharacters), reason, ms: Math.round(endedAt - startedAt) })
    }
    return refusals
  }

  private entries(hasFailed: boolean): ReadonlyArray<Attempt> {
    const isRefusal = ({ endedAt, reason }: Attempt) => reason !== undefined || (hasFailed && endedAt === undefined)
    const refused = this.attempts.filter(isRefusal)
    return hasFailed ? [...refused, ...this.leftOut] : refused
  }
}
