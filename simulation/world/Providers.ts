import { Effect } from "effect"
import { Refusal } from "../../src/domain/providers/Refusal.ts"
import type { UpstreamRow } from "../../src/domain/search/Organic.ts"
import type { SearchRequest } from "../../src/domain/search/SearchRequest.ts"
import * as Gate from "../../src/layers/providers/Gate.ts"
import type { Pacer } from "../../src/services/providers/Pacer.ts"
import { defaultTurn, type Provider } from "../../src/services/providers/Provider.ts"
import type { ProviderTable } from "../../src/services/providers/Providers.ts"
import type { Chance } from "./Chance.ts"
import { describedAt } from "./DescribedUpstream.ts"
import { firstUrl, moodOf, type Outside, type Upstream } from "./Upstreams.ts"

const rowsOf = (request: SearchRequest): ReadonlyArray<UpstreamRow> => {
  const base = firstUrl(request).slice(0, -1)
  return [1, 2, 3].map((rank) => ({ url: `${base}${rank}`, title: `Result ${rank}`, snippet: "found" }))
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
