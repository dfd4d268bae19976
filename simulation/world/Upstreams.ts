import { createHash } from "node:crypto"
import { Effect } from "effect"
import { Refusal, type RefusalReason } from "../../src/domain/providers/Refusal.ts"
import type { UpstreamRow } from "../../src/domain/search/Organic.ts"
import type { SearchRequest } from "../../src/domain/search/SearchRequest.ts"
import { targets } from "../../src/domain/search/Target.ts"
import type { Provider } from "../../src/services/providers/Provider.ts"
import type { ProviderTable } from "../../src/services/providers/Providers.ts"
import type { Chance } from "./Chance.ts"

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

/** The provider through which a replica calls an upstream. The replica's random stream determines response times. */
const adapterOf = (upstream: Upstream, chance: Chance): Provider => ({
  name: upstream.name,
  search: (request) => {
    const { mood } = upstream
    if (mood === "silent") return Effect.never
    const ms = chance.wait(mood === "slow" ? 6_000 : 150)
    const answer = Effect.suspend((): Effect.Effect<ReadonlyArray<UpstreamRow>, Refusal> => {
      if (mood === "well" || mood === "slow") return Effect.succeed(rowsOf(request))
      if (mood === "empty") return Effect.succeed([])
      if (mood === "broken") return Effect.die(new Error("an adapter that breaks"))
      const retryAfterMs = mood === "rate_limited" ? chance.between(1_000, 60_000) : undefined
      return Effect.fail(new Refusal({ reason: mood, message: "simulated", retryAfterMs }))
    })
    return Effect.andThen(Effect.sleep(ms), answer)
  }
})

/** Every target has two of the upstreams in order. One target uses hedging. */
export const tableOf = (upstreams: ReadonlyArray<Upstream>, chance: Chance): ProviderTable => {
  const adapters = upstreams.map((upstream) => adapterOf(upstream, chance))
  const lists = targets.map((target, index) => {
    const pair = [adapters[index % adapters.length], adapters[(index + 1) % adapters.length]]
    return [target, pair.filter((it) => it !== undefined)] as const
  })
  // The cast is safe because the list contains every target.
  return { ...(Object.fromEntries(lists) as unknown as ProviderTable), hedged: new Set(["beta_search"]) }
}
