import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, References } from "effect"
import { ProviderStates } from "../../../src/services/providers/ProviderStates.ts"
import * as ProviderTable from "../../support/api/ProviderTable.ts"
import { searchRequest } from "../../support/api/requests.ts"
import { type Answer, json, serve } from "../../support/servers/UpstreamServer.ts"
import { upstreams } from "../../support/servers/upstreams.ts"
import { searchProviders } from "../../support/Time.ts"

const marginalia = upstreams.find(({ type }) => type === "marginalia") ?? assert.fail("no fixture")

/** Milliseconds that each of `times` searches took, over upstreams in failover order. */
const timed = (urls: ReadonlyArray<string>, times: number) => {
  const file = {
    providers: Object.fromEntries(
      urls.map((url, index) => [`p${index}`, { type: "marginalia", url, apiKey: "public" }])
    ),
    targets: { alpha_search: urls.map((_, index) => ({ provider: `p${index}` })) }
  }
  return Effect.gen(function* () {
    const durations: Array<number> = []
    for (let time = 0; time < times; time++) {
      const startedAt = performance.now()
      yield* searchProviders(searchRequest())
      durations.push(performance.now() - startedAt)
    }
    return durations
  }).pipe(Effect.provide(ProviderTable.providers(file).pipe(Layer.provide(ProviderStates.layer)), { local: true }))
}

const median = (values: ReadonlyArray<number>): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0

describe("one of two providers that fails every time", () => {
  const faults: ReadonlyArray<readonly [string, Answer]> = [
    ["answers 500", json({}, 500)],
    ["answers 401", json({}, 401)],
    ["resets connections", (_, response) => response.socket?.resetAndDestroy()]
  ]
  for (const [what, respond] of faults) {
    it.live(`and ${what}: every search is answered, and once it is left out none takes a millisecond longer`, () =>
      Effect.gen(function* () {
        const good = yield* serve(json(marginalia.answer([1, 2, 3])))
        const bad = yield* serve(respond)
        yield* timed([good.url], 100)
        const alone = median(yield* timed([good.url], 400))
        const beside = yield* timed([bad.url, good.url], 400)
        assert.isBelow(median(beside.slice(20)) - alone, 1)
        assert.isAtMost(bad.received.length, 5)
      }).pipe(Effect.provideService(References.MinimumLogLevel, "Fatal"))
    )
  }
})
