import { createHash } from "node:crypto"
import type { RefusalReason } from "../../src/domain/providers/Refusal.ts"
import type { SearchRequest } from "../../src/domain/search/SearchRequest.ts"

/** Temporary behavior of an upstream. `silent` never responds. */
export type Mood = "well" | "slow" | "silent" | "empty" | "broken" | RefusalReason

export const moods: ReadonlyArray<Mood> = [
  "slow",
  "silent",
  "empty",
  "broken",
  "blocked",
  "quota",
  "rate_limited",
  "unauthorized",
  "unreachable",
  "malformed",
  "timeout",
  "unserved",
  "busy"
]

/** An upstream service on the internet, shared by all replicas. */
export interface Upstream {
  readonly name: string
  mood: Mood
  /** It must not be asked more often, by all replicas together. */
  readonly perSecond?: number
  /** What its plan pays for. After that it refuses searches until the next day (UTC). */
  readonly dailyQuota?: number
  readonly spent: { day: number; calls: number }
}

const dayMs = 86_400_000

/** A pace and a quota that are reached on many days, and at the busiest time. */
export const upstreamsOf = (): ReadonlyArray<Upstream> =>
  [{ name: "ada", perSecond: 1 }, { name: "bel", dailyQuota: 12 }, { name: "cyn" }, { name: "dee" }].map(
    (upstream) => ({
      ...upstream,
      mood: "well",
      spent: { day: 0, calls: 0 }
    })
  )

/** What the upstream does with a call. Counts it. */
export const moodOf = ({ dailyQuota, mood, spent }: Upstream, now: number): Mood => {
  const day = Math.floor(now / dayMs)
  if (spent.day !== day) Object.assign(spent, { day, calls: 0 })
  return ++spent.calls > (dailyQuota ?? Number.POSITIVE_INFINITY) ? "quota" : mood
}

type Asked = Pick<SearchRequest, "target" | "query" | "geo" | "locale" | "page" | "num" | "safe">

/**
 * The first result of a search at any upstream. It depends on every parameter, so that an answer to a different search
 * is detected.
 */
export const firstUrl = ({ geo, locale, num, page, query, safe, target }: Asked): string => {
  const asked = JSON.stringify([target, query, geo, locale, page, num, safe])
  return `https://found.test/${createHash("sha256").update(asked).digest("hex").slice(0, 16)}/1`
}

/** Where calls go: the shared pace of a provider file, and who watches them. */
export interface Outside {
  /** The simulation's time, which no skew of a replica changes. */
  readonly now: () => number
  readonly called: (upstream: Upstream) => void
}
