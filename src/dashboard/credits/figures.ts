import type { Usage } from "../api/routes.ts"

export const dayMs = 86_400_000

export interface Point {
  /** Unix milliseconds. */
  readonly at: number
  readonly left: number
}

export const burnDown = (usage: Usage, now: number): ReadonlyArray<Point> => {
  const { period, quota, remaining, series } = usage
  if (period.start === null || quota === null || remaining === null) return []
  const start = Date.parse(period.start)
  const points: Array<Point> = [{ at: start, left: quota }]
  let spent = 0
  for (const day of series) {
    spent += day.credits
    const at = Date.parse(day.start) + dayMs
    // The series includes pack credits, so it can exceed the use of the quota; `remaining` is the lower bound.
    if (at < now) points.push({ at, left: Math.max(remaining, quota - spent) })
  }
  return [...points, { at: now, left: remaining }]
}

export type Forecast =
  | { readonly _tag: "lasts"; readonly left: number }
  | { readonly _tag: "runsOut"; readonly at: number }

/** A shorter period is too short to predict from. */
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

export const startOfDay = (now: number): string => new Date(Math.floor(now / dayMs) * dayMs).toISOString()

export const failures = ({ outcomes }: Pick<Usage["totals"], "outcomes">): number =>
  outcomes.upstream_error + outcomes.upstream_timeout
