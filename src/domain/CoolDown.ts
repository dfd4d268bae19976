import type { Refusal, RefusalReason } from "./Refusal.ts"

/**
 * When something that refuses is left alone, and for how long: a provider, one of its API keys, an engine behind a
 * metasearch instance. A pure state machine; times are Unix milliseconds, given by the caller.
 *
 * `closed` asks freely. Enough refusals in a row make it `open`: nothing is asked until its time is over. Then it is
 * `half_open`: one probe may ask, and its end decides. An answer closes it from any state.
 */

export const phases = ["closed", "open", "half_open"] as const
export type Phase = (typeof phases)[number]

export interface CoolDown {
  /** Refusals in a row since the last answer. */
  readonly refusals: number
  /** How often it opened since the last answer: each time is twice as long as the one before. */
  readonly openings: number
  /** When it is half-open; undefined while it is closed. */
  readonly until: number | undefined
  /** Whether asking while it is open does no harm, where nobody else is left to ask. */
  readonly lastResort: boolean
  readonly isProbing: boolean
}

/** What one reason of refusal does. */
export interface Rule {
  /** Refusals in a row that open. */
  readonly refusals: number
  /** The first opening; each further one in a row doubles it, up to `maxMs`. */
  readonly baseMs: number
  readonly maxMs: number
  readonly lastResort: boolean
  /** Whether a refusal while it is open makes the time longer. Without it those in flight together count once. */
  readonly extend?: boolean
}

/** Reasons without a rule say nothing about what refused. */
export type Policy = { readonly [R in RefusalReason]?: Rule }

export const closed: CoolDown = { refusals: 0, openings: 0, until: undefined, lastResort: false, isProbing: false }

/** A provider's own word on when to come back counts up to a day: a header gone wrong must not end it for good. */
const maxRetryAfterMs = 24 * 3_600_000

export const phase = ({ until }: CoolDown, now: number): Phase =>
  until === undefined ? "closed" : until > now ? "open" : "half_open"

/** Whether to ask: freely while closed, one at a time while half-open. */
export const admits = (coolDown: CoolDown, now: number): boolean => {
  const current = phase(coolDown, now)
  return current === "closed" || (current === "half_open" && !coolDown.isProbing)
}

/** Something is asked. It is the probe where it is half-open and none runs. */
export const isProbe = (coolDown: CoolDown, now: number): boolean =>
  phase(coolDown, now) === "half_open" && !coolDown.isProbing

export const startProbe = (coolDown: CoolDown): CoolDown => ({ ...coolDown, isProbing: true })

/** The probe ended, whatever it learned; without this an interrupted one would keep everybody away for good. */
export const endProbe = (coolDown: CoolDown): CoolDown => ({ ...coolDown, isProbing: false })

/** The time of the next opening. */
export const openMs = (rule: Rule, openings: number, retryAfterMs: number | undefined): number =>
  retryAfterMs === undefined
    ? Math.min(rule.baseMs * 2 ** Math.min(openings, 20), rule.maxMs)
    : Math.min(retryAfterMs, maxRetryAfterMs)

/** Counts a refusal, and opens where the rule of its reason says so. */
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
 * Of providers and their keys. One that is blocked or limited gets worse by being asked on; one whose account or key is
 * at fault cannot get better soon. `unserved` and `busy` say nothing about it.
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

/** Of an engine that SearXNG suspends after a failure: the longest that it does so by default. */
export const suspensionPolicy: Policy = {
  blocked: suspension(minutes(24 * 60)),
  rate_limited: suspension(minutes(60)),
  timeout: suspension(minutes(2)),
  unreachable: suspension(minutes(2))
}
