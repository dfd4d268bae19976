import type { LoggedReason, LoggedRefusal } from "../domain/LogEntry.ts"

/** The most refusals of one log entry, and the longest name in one: an operator may configure many providers. */
const maxRefusals = 8
const maxNameCharacters = 64

/** One attempt at a provider. Times are Unix milliseconds. */
class Attempt {
  readonly provider: string
  readonly startedAt: number
  /** Undefined while it runs, and after an answer. */
  reason: LoggedReason | undefined
  /** Undefined while it runs. */
  endedAt: number | undefined

  constructor(provider: string, startedAt: number) {
    this.provider = provider
    this.startedAt = startedAt
  }

  /** Records the end, unless the batch has ended before. */
  end(now: number, reason?: LoggedReason): void {
    if (this.endedAt !== undefined) return
    this.endedAt = now
    this.reason = reason
  }
}

/** The attempts of one search, from which its log entry gets the reasons of refusals. */
export class Attempts {
  private readonly attempts: Array<Attempt> = []
  private readonly leftOut: Array<Attempt> = []
  /** The attempts of the identical search whose call this one shares. */
  private joined: Attempts | undefined
  /** The reason of attempts that still run when the search ends. */
  private openReason: LoggedReason = "timeout"

  /** Adds an attempt that starts now. */
  start(provider: string, now: number): Attempt {
    const attempt = new Attempt(provider, now)
    this.attempts.push(attempt)
    return attempt
  }

  /** Adds the attempts of an identical search in flight, whose answer this search waits for. */
  join(other: Attempts): void {
    this.joined = other
  }

  /** Ends the attempts that still run, because their batch has ended. */
  cutOff(now: number): void {
    this.openReason = "cut_off"
    for (const attempt of this.attempts) attempt.end(now, "cut_off")
  }

  /** Adds a provider that is not called. */
  leaveOut(provider: string, reason: "unserved" | "cool_down", now: number): void {
    const attempt = new Attempt(provider, now)
    attempt.end(now, reason)
    this.leftOut.push(attempt)
  }

  /**
   * The refusals until now. For a search that failed these include attempts that still run, whose time has ended, and
   * providers that were left out.
   */
  refusals(hasFailed: boolean, now: number): ReadonlyArray<LoggedRefusal> {
    const refusals: Array<LoggedRefusal> = []
    for (const { endedAt = now, provider, startedAt, reason = this.openReason } of this.entries(hasFailed)) {
      if (refusals.length === maxRefusals) break
      refusals.push({ provider: provider.slice(0, maxNameCharacters), reason, ms: Math.round(endedAt - startedAt) })
    }
    return refusals
  }

  private entries(hasFailed: boolean): ReadonlyArray<Attempt> {
    const isRefusal = ({ endedAt, reason }: Attempt) => reason !== undefined || (hasFailed && endedAt === undefined)
    const refused = this.attempts.filter(isRefusal)
    const own = hasFailed ? [...refused, ...this.leftOut] : refused
    return this.joined === undefined ? own : [...this.joined.entries(hasFailed), ...own]
  }
}
