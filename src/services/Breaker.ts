import type { Refusal, RefusalReason } from "./Provider.ts"

interface Rule {
  /** Refusals in a row that open the breaker. */
  readonly after: number
  /** The first time it is open; each further opening in a row doubles it, up to the most. */
  readonly baseMs: number
  readonly mostMs: number
  /** Whether a provider is asked all the same when no other is left: nothing gets worse by it. */
  readonly lastResort: boolean
}

const seconds = (count: number): number => count * 1_000
const minutes = (count: number): number => count * 60_000

const failing: Rule = { after: 5, baseMs: seconds(5), mostMs: minutes(1), lastResort: true }

/**
 * What keeps a provider from being asked, and for how long. One that is blocked or limited gets worse by being asked
 * on, one whose account or key is at fault cannot get better soon. `unserved` and `busy` say nothing about it.
 */
const rules: { readonly [R in RefusalReason]?: Rule } = {
  blocked: { after: 3, baseMs: seconds(30), mostMs: minutes(60), lastResort: false },
  quota: { after: 1, baseMs: minutes(5), mostMs: minutes(60), lastResort: false },
  rate_limited: { after: 1, baseMs: seconds(1), mostMs: minutes(1), lastResort: false },
  unauthorized: { after: 1, baseMs: minutes(5), mostMs: minutes(60), lastResort: false },
  unreachable: failing,
  malformed: failing,
  timeout: { ...failing, after: 3 }
}

/** A provider's word on when to come back is kept up to here; a header gone wrong must not end it for good. */
const mostRetryAfterMs = minutes(24 * 60)

/** How long nothing is asked after `refusal`, which came after `earlier` others without an answer in between. */
export const coolDownMs = ({ reason, retryAfterMs }: Refusal, earlier: number): number => {
  if (retryAfterMs !== undefined) return Math.min(retryAfterMs, mostRetryAfterMs)
  const rule = rules[reason]
  return rule === undefined ? 0 : Math.min(rule.baseMs * 2 ** Math.min(earlier, 20), rule.mostMs)
}

export const breakerStates = ["closed", "open", "half_open"] as const
export type BreakerState = (typeof breakerStates)[number]

/**
 * Leaves out a provider that keeps refusing. When its cool-down has passed, one search probes it and the others still
 * go by. Times are Unix milliseconds, told by the caller, so that deciding costs nothing.
 */
export class Breaker {
  private inRow = 0
  private openings = 0
  private opened: { readonly until: number; readonly lastResort: boolean } | undefined
  private probing = false

  state(now: number): BreakerState {
    if (this.opened === undefined) return "closed"
    return this.opened.until > now ? "open" : "half_open"
  }

  /** When it is open, until when. */
  get until(): number | undefined {
    return this.opened?.until
  }

  admits(now: number): boolean {
    const state = this.state(now)
    return state === "closed" || (state === "half_open" && !this.probing)
  }

  /** Whether to ask although the breaker is open, because nobody else is left. */
  get isLastResort(): boolean {
    return this.opened?.lastResort === true
  }

  /** A search is about to ask. Answers what to call when it ended without telling anything, as by interruption. */
  begin(now: number): () => void {
    if (this.state(now) !== "half_open" || this.probing) return () => undefined
    this.probing = true
    return () => {
      this.probing = false
    }
  }

  succeeded(): void {
    this.inRow = 0
    this.openings = 0
    this.opened = undefined
  }

  /** Answers how long it is open from now on, when this refusal opened it. */
  refused(refusal: Refusal, now: number): number | undefined {
    const rule = rules[refusal.reason]
    if (rule === undefined) return undefined
    this.inRow += 1
    const wasOpen = this.state(now) === "open"
    if (wasOpen || (this.opened === undefined && this.inRow < rule.after)) return undefined
    const ms = coolDownMs(refusal, this.openings)
    this.openings += 1
    this.opened = { until: now + ms, lastResort: rule.lastResort }
    return ms
  }
}
