import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import { standardPlans } from "../../../src/domain/credits/Plan.ts"
import { digestOf } from "../../../src/services/credits/Plans.ts"
import * as Heartbeat from "../../../src/services/operations/Heartbeat.ts"
import { type BoundAddress, Readiness } from "../../../src/services/operations/Readiness.ts"
import { type Heartbeat as Beat, ReplicaId, Replicas } from "../../../src/services/operations/Replicas.ts"
import type { Provider } from "../../../src/services/providers/Provider.ts"
import { type ProviderPause, ProviderPauses } from "../../../src/services/providers/ProviderPauses.ts"
import { ProviderStates } from "../../../src/services/providers/ProviderStates.ts"
import * as StandardSettings from "../../../src/testing/StandardSettings.ts"

const options = {
  host: "a.example",
  reachable: ({ port }: BoundAddress) => ({ host: "10.0.0.1", port }),
  version: "0.1.0",
  commit: "1a2b3c4",
  usesRedis: false
}

/** A replica's heartbeats, and the ids that left. `broken` heartbeats are lost in the store. */
const replica = Effect.fnUntraced(function* (scope: Scope.Scope, broken: ReadonlySet<number> = new Set()) {
  const beats: Array<Beat> = []
  const left: Array<string> = []
  let paused: ReadonlyArray<ProviderPause> = []
  const pause = (pauses: typeof paused) => {
    paused = pauses
  }
  const pauses = Layer.mock(ProviderPauses, { all: Effect.sync(() => paused) })
  const replicas = Layer.succeed(Replicas, {
    beat: (heartbeat) =>
      Effect.suspend(() => {
        beats.push(heartbeat)
        return broken.has(beats.length) ? Effect.die(new Error("the database is down")) : Effect.void
      }),
    leave: (id) => Effect.sync(() => left.push(id)),
    forget: () => Effect.succeed("unknown"),
    all: Effect.succeed([])
  })
  const provider: Provider = { name: "meta/google", search: () => Effect.succeed([]) }
  const states = Layer.effectDiscard(Effect.flatMap(ProviderStates, ({ monitor }) => monitor(provider))).pipe(
    Layer.provideMerge(ProviderStates.layer)
  )
  const replicaId = Layer.succeed(ReplicaId, "rep_1")
  const services = Layer.mergeAll(replicas, pauses, replicaId, states, Readiness.layer, StandardSettings.plans)
  yield* Layer.buildWithScope(
    Effect.flatMap(Readiness, ({ setListener }) => setListener("serving", { host: "0.0.0.0", port: 3000 })).pipe(
      Layer.effectDiscard,
      Layer.provideMerge(Heartbeat.layer(options)),
      Layer.provide(services)
    ),
    scope
  )
  yield* TestClock.adjust(0)
  return { beats, left, pause }
})

describe("the heartbeat of a replica", () => {
  it.effect("reports at once and every 5 seconds, with its providers and its clock", () =>
    Effect.gen(function* () {
      const { beats } = yield* replica(yield* Effect.scope)
      assert.strictEqual(beats.length, 1)
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(
        beats.map(({ now }) => now),
        [0, 5_000, 10_000]
      )
      assert.strictEqual(new Set(beats.map(({ id }) => id)).size, 1)
      assert.deepInclude(beats[2], {
        host: "a.example",
        address: "10.0.0.1:3000",
        version: "0.1.0",
        commit: "1a2b3c4",
        startedAt: 0
      })
      assert.deepStrictEqual(beats[2]?.vitals, {
        redis: "off",
        pool: null,
        providers: [
          {
            provider: "meta",
            engine: "google",
            phase: "closed",
            lastSuccessAt: null,
            lastRefusal: null,
            p95Ms: null,
            retryAt: null,
            isPaused: false,
            recent: { calls: 0, answers: 0 }
          }
        ],
        plans: digestOf(standardPlans)
      })
    })
  )

  it.effect("takes up pauses, and their end, within 5 seconds", () =>
    Effect.gen(function* () {
      const { beats, pause } = yield* replica(yield* Effect.scope)
      const isPaused = () => beats.at(-1)?.vitals.providers[0]?.isPaused
      assert.isFalse(isPaused())
      pause([{ provider: "meta", engine: undefined, by: "ada", reason: "captchas", since: 0 }])
      yield* TestClock.adjust("5 seconds")
      assert.isTrue(isPaused())
      pause([{ provider: "meta", engine: "bing", by: "ada", reason: "captchas", since: 0 }])
      yield* TestClock.adjust("5 seconds")
      assert.isFalse(isPaused())
    })
  )

  it.effect("goes on after a heartbeat that the store did not take", () =>
    Effect.gen(function* () {
      const { beats } = yield* replica(yield* Effect.scope, new Set([1, 2]))
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(beats.length, 3)
    })
  )

  it.effect("ends with the process, which takes its replica away", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { beats, left } = yield* replica(scope)
      yield* Scope.close(scope, Exit.void)
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual([beats.length, left], [1, [beats[0]?.id ?? ""]])
    })
  )
})
