import { createHash } from "node:crypto"
import { Effect } from "effect"
import { Refusal, type RefusalReason } from "../../src/domain/providers/Refusal.ts"
import type { UpstreamRow } from "../../src/domain/search/Organic.ts"
import type { SearchRequest } from "../../src/domain/search/SearchRequest.ts"
import * as Gate from "../../src/layers/providers/Gate.ts"
import type { Pacer } from "../../src/services/providers/Pacer.ts"
import { defaultTurn, type Provider } from "../../src/services/providers/Provider.ts"
import type { ProviderTable } from "../../src/services/providers/Providers.ts"
import type { Chance } from "./Chance.ts"
import { describedAt } from "./DescribedUpstream.ts"

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

const rowsOf = (request: SearchRequest): ReadonlyArray<UpstreamRow> => {
  const base = firstUrl(request).slice(0, -1)
  return [1, 2, 3].map((rank) => ({ url: `${base}${rank}`, title: `Result ${rank}`, snippet: "found" }))
}

/** Where calls go: the shared pace of a provider file, and who watches them. */
export interface Outside {
  /** The simulation's time, which no skew of a replica changes. */
  readonly now: () => number
  readonly called: (upstream: Upstream) => void
}

/** The provider through which a replica calls an upstream. The replica's random stream determines response times. */
const adapterOf = (
  upstream: Upstream,
  chance: Chance,
  { called, now }: Outside
): Effect.Effect<Provider, never, Pacer> => {
  const { name, perSecond } = upstream
  const answer = (request: SearchRequest) =>
    Effect.suspend((): Effect.Effect<ReadonlyArray<UpstreamRow>, Refusal> => {
      called(upstream)
      const mood = moodOf(upstream, now())
      if (mood === "silent") return Effect.never
      const ms = chance.wait(mood === "slow" ? 6_000 : 150)
      if (mood === "well" || mood === "slow")
        return Effect.delay(
          Effect.sync(() => rowsOf(request)),
          ms
        )
      if (mood === "empty") return Effect.delay(Effect.succeed([]), ms)
      if (mood === "broken") return Effect.delay(Effect.die(new Error("an adapter that breaks")), ms)
      const retryAfterMs = mood === "rate_limited" ? chance.between(1_000, 60_000) : undefined
      return Effect.delay(Effect.fail(new Refusal({ reason: mood, message: "simulated", retryAfterMs })), ms)
    })
  return Effect.map(Gate.make(name, perSecond === undefined ? {} : { requestsPerSecond: perSecond }), (gate) => ({
    name,
    limits: gate,
    search: (request, turn = defaultTurn) => gate.run(answer(request), turn)
  }))
}

/**
 * The providers of a replica. One target uses hedging, one has only the provider with a pace, and one only the provider
 * with a quota, so that searches wait, and so that no provider is left to ask.
 */
export const tableOf = Effect.fnUntraced(function* (
  [first, second, third, last]: ReadonlyArray<Upstream>,
  chance: Chance,
  outside: Outside
) {
  if (first === undefined || second === undefined || third === undefined || last === undefined)
    return yield* Effect.die(new Error("four upstreams are needed"))
  const ada = yield* adapterOf(first, chance, outside)
  const bel = yield* adapterOf(second, chance, outside)
  const cyn = yield* adapterOf(third, chance, outside)
  const dee = yield* describedAt(last, chance, outside)
  const table: ProviderTable = {
    alpha_search: [ada, bel],
    beta_search: [bel, cyn],
    gamma_search: [dee, cyn],
    delta_search: [ada],
    epsilon_search: [cyn, ada],
    zeta_search: [bel],
    hedged: new Set(["beta_search"])
  }
  return table
})
