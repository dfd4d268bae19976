import type { LoggedReason, LoggedRefusal } from "../../domain/search/LogEntry.ts"

/** Limits a log entry, because an operator may configure many providers with long names. */
const maxRefusals = 8
const maxNameCharacters = 64

export class Attempt {
  readonly provider: string
  readonly startedAt: number
  /** Undefined while it runs, and if it succeeded. */
  reason: LoggedReason | undefined
  endedAt: number | undefined
  /** For results that were merged: how many of the search's results only this provider had. */
  only: number | undefined

  constructor(provider: string, startedAt: number) {
    this.provider = provider
    this.startedAt = startedAt
  }

  /** Records the end, unless the batch ended first. */
  end(now: number, reason?: LoggedReason): void {
    if (this.endedAt !== undefined) return
    this.endedAt = now
    this.reason = reason
  }

  /** Records that the results were merged with those of other providers. */
  merge(only: number): void {
    this.reason = "merged"
    this.only = only
  }
}

export class Attempts {
  private readonly attempts: Array<Attempt> = []
  private readonly skipped: Array<Attempt> = []
  /** The attempts of an identical search whose lookup this one shares. */
  private joined: Attempts | undefined
  /** The reason recorded for attempts that still run when the search ends. */
  private openReason: LoggedReason = "timeout"

  start(provider: string, now: number): Attempt {
    const attempt = new Attempt(provider, now)
    this.attempts.push(attempt)
    return attempt
  }

  join(other: Attempts): void {
    this.joined = other
  }

  /** Ends running attempts because the batch has ended. */
  cutOff(now: number): void {
    this.openReason = "cut_off"
    for (const attempt of this.attempts) attempt.end(now, "cut_off")
  }

  leaveOut(provider: string, reason: "unserved" | "cool_down", now: number): void {
    const attempt = new Attempt(provider, now)
    attempt.end(now, reason)
    this.skipped.push(attempt)
  }

  /** The refusals so far. For a failed search, including attempts still running and skipped providers. */
  refusals(hasFailed: boolean, now: number): ReadonlyArray<LoggedRefusal> {
    const refusals: Array<LoggedRefusal> = []
    for (const { endedAt = now, only, provider, startedAt, reason = this.openReason } of this.entries(hasFailed)) {
      if (refusals.length === maxRefusals) break
      const refusal = { provider: provider.slice(0, maxNameCharacters), reason, ms: Math.round(endedAt - startedAt) }
      refusals.push(only === undefined ? refusal : { ...refusal, only })
    }
    return refusals
  }

  private entries(hasFailed: boolean): ReadonlyArray<Attempt> {
    const isRefusal = ({ endedAt, reason }: Attempt) => reason !== undefined || (hasFailed && endedAt === undefined)
    const refused = this.attempts.filter(isRefusal)
    const own = hasFailed ? [...refused, ...this.skipped] : refused
    return this.joined === undefined ? own : [...this.joined.entries(hasFailed), ...own]
  }
}
