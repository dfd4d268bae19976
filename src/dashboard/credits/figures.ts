import type { Usage } from "../api/routes.ts"

export const dayMs = 86_400_000

/** The remaining quota: at the start of the period, after each past day, and now. */
export const burnDown = ({ period, quota, remaining, series }: Usage, now: number): ReadonlyArray<number> => {
  if (period.start === null || quota === null || remaining === null) return []
  const points = [quota]
  let left = quota
  for (const { credits } of series.filter(({ start }) => Date.parse(start) + dayMs < now)) {
    left -= credits
    // The series includes pack credits, so it can exceed the use of the quota; `remaining` is the lower bound.
    points.push(Math.max(remaining, left))
  }
  return [...points, remaining]
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
