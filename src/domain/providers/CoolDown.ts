import type { Refusal, RefusalReason } from "./Refusal.ts"

/**
 * A circuit breaker for a provider, one of its API keys, or an engine behind a metasearch instance. Consecutive
 * refusals open it; when its time ends, `half_open` admits one probe, whose result decides. A success closes it from
 * any state. Times are Unix milliseconds.
 */

export const phases = ["closed", "open", "half_open"] as const
export type Phase = (typeof phases)[number]

export interface CoolDown {
  readonly refusals: number
  readonly openings: number
  /** Start of the half-open state; undefined while closed. */
  readonly until: number | undefined
  /** Allows calls while open if no other provider is left. */
  readonly lastResort: boolean
  readonly isProbing: boolean
}

export interface Rule {
  readonly refusals: number
  readonly baseMs: number
  readonly maxMs: number
  readonly lastResort: boolean
  /** Lets a refusal extend an open breaker. Otherwise concurrent refusals count as one opening. */
  readonly extend?: boolean
}

export type Policy = { readonly [R in RefusalReason]?: Rule }

export const closed: CoolDown = { refusals: 0, openings: 0, until: undefined, lastResort: false, isProbing: false }

/** Limits `Retry-After`, because a wrong header must not disable a provider for good. */
const maxRetryAfterMs = 24 * 3_600_000

export const phase = ({ until }: CoolDown, now: number): Phase =>
  until === undefined ? "closed" : until > now ? "open" : "half_open"

/** Returns true if a call is allowed: any number while closed, one at a time while half-open. */
export const admits = (coolDown: CoolDown, now: number): boolean => {
  const current = phase(coolDown, now)
  return current === "closed" || (current === "half_open" && !coolDown.isProbing)
}

export const isProbe = (coolDown: CoolDown, now: number): boolean =>
  phase(coolDown, now) === "half_open" && !coolDown.isProbing

export const startProbe = (coolDown: CoolDown): CoolDown => ({ ...coolDown, isProbing: true })

/** Call it for interrupted probes too: otherwise no further probe is admitted. */
export const endProbe = (coolDown: CoolDown): CoolDown => ({ ...coolDown, isProbing: false })

export const openMs = (rule: Rule, openings: number, retryAfterMs: number | undefined): number =>
  retryAfterMs === undefined
    ? Math.min(rule.baseMs * 2 ** Math.min(openings, 20), rule.maxMs)
    : Math.min(retryAfterMs, maxRetryAfterMs)

export const recordRefusal = (
  coolDown: CoolDown,
  policy: Policy,
  { reason, retryAfterMs }: Pick<Refusal, "reason" | "retryAfterMs">,
  now: number
): CoolDown => {
  const rule = policy[reason]
  if (rule === undefined) return coolDown
  const refusals = coolDown.refusals + 1
  const current = phase(coolDown, now)
  if (current === "closed" && refusals < rule.refusals) return { ...coolDown, refusals }
  if (current === "open") {
    if (rule.extend !== true) return { ...coolDown, refusals }
    const until = now + openMs(rule, coolDown.openings - 1, retryAfterMs)
    return { ...coolDown, refusals, until: Math.max(coolDown.until ?? 0, until) }
  }
  return {
    ...coolDown,
    refusals,
    openings: coolDown.openings + 1,
    until: now + openMs(rule, coolDown.openings, retryAfterMs),
    lastResort: rule.lastResort
  }
}

const seconds = (count: number): number => count * 1_000
const minutes = (count: number): number => count * 60_000

const failing: Rule = { refusals: 5, baseMs: seconds(5), maxMs: minutes(1), lastResort: true }

/** A block or rate limit gets worse with more calls. `unserved` and `busy` are not the provider's fault. */
export const providerPolicy: Policy = {
  blocked: { refusals: 3, baseMs: seconds(30), maxMs: minutes(60), lastResort: false },
  quota: { refusals: 1, baseMs: minutes(5), maxMs: minutes(60), lastResort: false },
  rate_limited: { refusals: 1, baseMs: seconds(1), maxMs: minutes(1), lastResort: false },
  unauthorized: { refusals: 1, baseMs: minutes(5), maxMs: minutes(60), lastResort: false },
  unreachable: failing,
  malformed: failing,
  timeout: { ...failing, refusals: 3 }
}

const suspension = (ms: number): Rule => ({ refusals: 1, baseMs: ms, maxMs: ms, lastResort: false, extend: true })

/** For engines behind SearXNG: its longest default suspension times. */
export const suspensionPolicy: Policy = {
  blocked: suspension(minutes(24 * 60)),
  rate_limited: suspension(minutes(60)),
  timeout: suspension(minutes(2)),
  unreachable: suspension(minutes(2))
}
