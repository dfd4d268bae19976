import type { Answer } from "./api/routes.ts"

/** Arithmetic on the figures of an account, for the charts. */

type Usage = Answer<"GET /v1/usage">

export const dayMs = 86_400_000

export interface Point {
  /** Unix milliseconds. */
  readonly at: number
  readonly left: number
}

/** The credits of the quota that are left at the end of each day of the period so far. The last point is now. */
export const burnDown = (usage: Usage, now: number): ReadonlyArray<Point> => {
  const { period, quota, remaining, series } = usage
  if (period.start === null || quota === null || remaining === null) return []
  const begin = Date.parse(period.start)
  const points: Array<Point> = [{ at: begin, left: quota }]
  let spent = 0
  for (const { credits, start } of series) {
    spent += credits
    const at = Date.parse(start) + dayMs
    // Credits of packs are in the series too: the quota is never below what the API says is left of it.
    if (at < now) points.push({ at, left: Math.max(remaining, quota - spent) })
  }
  return [...points, { at: now, left: remaining }]
}

export type Forecast =
  /** Credits that are left at the reset, at the pace of the period so far. */
  | { readonly _tag: "lasts"; readonly left: number }
  /** Unix milliseconds at which the quota is used up. */
  | { readonly _tag: "runsOut"; readonly at: number }

/** A pace that is measured over less than this says nothing. */
const minMeasuredMs = dayMs

export const forecast = ({ period, quota, remaining, resets_at: reset }: Usage, now: number): Forecast | undefined => {
  if (period.start === null || quota === null || remaining === null || reset === null) return undefined
  const elapsed = now - Date.parse(period.start)
  const used = quota - remaining
  if (elapsed < minMeasuredMs || used <= 0) return undefined
  const untilEmpty = (remaining / used) * elapsed
  const untilReset = Date.parse(reset) - now
  if (untilEmpty < untilReset) return { _tag: "runsOut", at: now + untilEmpty }
  return { _tag: "lasts", left: Math.round(remaining - (used / elapsed) * untilReset) }
}

/** The begin of the running day in UTC, which is the day of periods and counts. */
export const startOfDay = (now: number): string => new Date(Math.floor(now / dayMs) * dayMs).toISOString()

/** Searches that failed. */
export const failures = ({ outcomes }: Usage["totals"]): number => outcomes.upstream_error + outcomes.upstream_timeout
