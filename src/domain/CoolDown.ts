import type { Refusal, RefusalReason } from "./Refusal.ts"

/**
 * A circuit breaker for whatever can refuse: a provider, one of its API keys, an engine behind a metasearch instance. It
 * is a pure state machine; times are Unix milliseconds, passed by the caller.
 *
 * `closed` admits every call. After enough refusals in a row it is `open` and admits none until its time is over. Then
 * it is `half_open` and admits one probe, whose end decides. An answer closes it from any state.
 */

export const phases = ["closed", "open", "half_open"] as const
export type Phase = (typeof phases)[number]

export interface CoolDown {
  /** Refusals in a row since the last answer. */
  readonly refusals: number
  /** Number of openings since the last answer. Each one is twice as long as the one before. */
  readonly openings: number
  /** Start of the half-open state; undefined while it is closed. */
  readonly until: number | undefined
  /** Permits calls while it is open, where no other provider is left. */
  readonly lastResort: boolean
  readonly isProbing: boolean
}

/** The effect of refusals of one reason. */
export interface Rule {
  /** Refusals in a row that open it. */
  readonly refusals: number
  /** Duration of the first opening; each further one in a row doubles it, up to `maxMs`. */
  readonly baseMs: number
  readonly maxMs: number
  readonly lastResort: boolean
  /** Lets a refusal while it is open prolong the opening. Otherwise concurrent refusals count as one opening. */
  readonly extend?: boolean
}

/** A rule for each reason. A reason without a rule changes nothing. */
export type Policy = { readonly [R in RefusalReason]?: Rule }

export const closed: CoolDown = { refusals: 0, openings: 0, until: undefined, lastResort: false, isProbing: false }

/** The longest `Retry-After` that counts, because a wrong header must not disable a provider for good. */
const maxRetryAfterMs = 24 * 3_600_000

export const phase = ({ until }: CoolDown, now: number): Phase =>
  until === undefined ? "closed" : until > now ? "open" : "half_open"

/** Checks if a call may be made: any while closed, one at a time while half-open. */
export const admits = (coolDown: CoolDown, now: number): boolean => {
  const current = phase(coolDown, now)
  return current === "closed" || (current === "half_open" && !coolDown.isProbing)
}

/** Checks if a call that starts at `now` is the probe of a half-open cool-down. */
export const isProbe = (coolDown: CoolDown, now: number): boolean =>
  phase(coolDown, now) === "half_open" && !coolDown.isProbing

export const startProbe = (coolDown: CoolDown): CoolDown => ({ ...coolDown, isProbing: true })

/** Records the end of the probe, also of an interrupted one, after which no further probe would be admitted otherwise. */
export const endProbe = (coolDown: CoolDown): CoolDown => ({ ...coolDown, isProbing: false })

/** The duration of the next opening. */
export const openMs = (rule: Rule, openings: number, retryAfterMs: number | undefined): number =>
  retryAfterMs === undefined
    ? Math.min(rule.baseMs * 2 ** Math.min(openings, 20), rule.maxMs)
    : Math.min(retryAfterMs, maxRetryAfterMs)

/** Counts a refusal, and opens the cool-down where the rule of its reason says so. */
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

/**
 * The policy for providers and their keys. Further calls make a block or a rate limit worse, and cannot help while an
 * account or a key is invalid. `unserved` and `busy` have no rule, because they show no fault of the provider.
 */
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

/** The policy for engines behind SearXNG: the longest default times for which SearXNG itself suspends an engine. */
export const suspensionPolicy: Policy = {
  blocked: suspension(minutes(24 * 60)),
  rate_limited: suspension(minutes(60)),
  timeout: suspension(minutes(2)),
  unreachable: suspension(minutes(2))
}
