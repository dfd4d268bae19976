import type { LoggedReason, LoggedRefusal } from "../../domain/log/LogEntry.ts"
import type { UnsentReason } from "../../domain/providers/Unsent.ts"
import type { Deadline } from "../waiting/Deadlines.ts"

/** Limits a log entry, because an operator may configure many providers with long names. */
const maxRefusals = 8
const maxNameCharacters = 64

export type LeftOutReason = "unserved" | "cool_down" | "paused"

export class Attempt {
  readonly provider: string
  readonly startedAt: number
  /** Undefined while it runs, and if it succeeded. */
  reason: LoggedReason | undefined
  endedAt: number | undefined
  /** False while it waits for the provider's call limits. */
  isSent = false
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
  /** The attempts of an identical search whose lookup this one shares, and when this one joined. */
  private joined: { readonly attempts: Attempts; readonly at: Deadline } | undefined
  private firstSentAt: Deadline | undefined
  private readonly onSent: Array<(sentAt: Deadline) => void> = []
  /** The reason recorded for attempts that still run when the search ends. */
  private openReason: LoggedReason = "timeout"

  start(provider: string, now: number): Attempt {
    const attempt = new Attempt(provider, now)
    this.attempts.push(attempt)
    return attempt
  }

  join(attempts: Attempts, at: Deadline): void {
    this.joined = { attempts, at }
    attempts.whenSent((sentAt) => this.tellSent(Math.max(at, sentAt)))
  }

  /** Calls the function when the search is first sent to a provider, at once if that has happened. */
  whenSent(onSent: (sentAt: Deadline) => void): void {
    const { sentAt } = this
    if (sentAt === undefined) this.onSent.push(onSent)
    else onSent(sentAt)
  }

  private tellSent(sentAt: Deadline): void {
    for (const onSent of this.onSent.splice(0)) onSent(sentAt)
  }

  /** Records that a provider was asked. */
  send(at: Deadline, attempt?: Attempt): void {
    if (attempt !== undefined) attempt.isSent = true
    if (this.firstSentAt !== undefined) return
    this.firstSentAt = at
    this.tellSent(at)
  }

  hasAsked(provider: string): boolean {
    return this.attempts.some((attempt) => attempt.isSent && attempt.provider === provider)
  }

  /** The time at which the search, or the lookup that it shares, was first sent to a provider. Undefined if it was not. */
  get sentAt(): Deadline | undefined {
    if (this.firstSentAt !== undefined || this.joined === undefined) return this.firstSentAt
    const { at, attempts } = this.joined
    return attempts.sentAt === undefined ? undefined : Math.max(at, attempts.sentAt)
  }

  /** The reasons that providers were not asked. The cool-down of all of a provider's keys counts as its own. */
  get unsentReasons(): ReadonlySet<UnsentReason> {
    const unsent = [...this.skipped, ...this.attempts.filter(({ isSent }) => !isSent)]
    return new Set(
      unsent.map(({ reason = "busy" }) =>
        reason === "busy" || reason === "unserved" || reason === "paused" ? reason : "cool_down"
      )
    )
  }

  /** Ends running attempts because the batch has ended. */
  cutOff(now: number): void {
    this.openReason = "cut_off"
    for (const attempt of this.attempts) attempt.end(now, "cut_off")
  }

  leaveOut(provider: string, reason: LeftOutReason, now: number): void {
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
    return this.joined === undefined ? own : [...this.joined.attempts.entries(hasFailed), ...own]
  }
}
