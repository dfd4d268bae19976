import { assert, type Vitest } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { type Heartbeat, Replicas, type Vitals } from "../../../../src/services/operations/Replicas.ts"

const vitals: Vitals = {
  redis: "answers",
  pool: { max: 10, used: 2, waiting: 1 },
  providers: [
    {
      provider: "meta",
      engine: "google",
      phase: "open",
      lastSuccessAt: 5,
      lastRefusal: { at: 6, reason: "blocked" },
      p95Ms: 321
    }
  ],
  plans: "0123456789ab"
}

const heartbeat = (fields: Partial<Heartbeat> & { readonly id: string }): Heartbeat => ({
  host: "a.example",
  address: "a.example:3000",
  commit: "1a2b3c4",
  version: "0.1.0",
  startedAt: 1_000,
  now: 2_000,
  vitals,
  ...fields
})

const found = (id: string) =>
  Effect.flatMap(Replicas, ({ all }) => Effect.map(all, (replicas) => replicas.filter((it) => it.id === id)))

/** What any store of heartbeats promises. */
export const replicasConformance = (it: Vitest.MethodsNonLive<Replicas>): void => {
  it.effect("a replica is there once, however often it reports, with its latest state", () =>
    Effect.gen(function* () {
      const replicas = yield* Replicas
      yield* replicas.beat(heartbeat({ id: "rep_once" }))
      yield* replicas.beat(heartbeat({ id: "rep_once", vitals: { ...vitals, redis: "away", pool: null } }))
      const [replica, ...others] = yield* found("rep_once")
      assert.deepStrictEqual(others, [])
      assert.deepInclude(replica, {
        host: "a.example",
        address: "a.example:3000",
        version: "0.1.0",
        commit: "1a2b3c4",
        startedAt: 1_000
      })
      assert.deepStrictEqual(replica?.vitals, { ...vitals, redis: "away", pool: null })
      assert.isBelow(replica?.silentMs ?? -1, 10_000)
    })
  )

  it.effect("the skew is the replica's clock less the store's", () =>
    Effect.gen(function* () {
      const replicas = yield* Replicas
      yield* replicas.beat(heartbeat({ id: "rep_behind", now: 0 }))
      const [behind] = yield* found("rep_behind")
      const storeNow = -(behind?.skewMs ?? 0)
      yield* replicas.beat(heartbeat({ id: "rep_ahead", now: storeNow + 864_000_000 }))
      const [ahead] = yield* found("rep_ahead")
      assert.closeTo(ahead?.skewMs ?? 0, 864_000_000, 60_000)
    })
  )

  it.effect("a replica that stops in order is forgotten at once", () =>
    Effect.gen(function* () {
      const replicas = yield* Replicas
      yield* replicas.beat(heartbeat({ id: "rep_left" }))
      yield* replicas.leave("rep_left")
      assert.deepStrictEqual(yield* found("rep_left"), [])
      yield* replicas.leave("rep_left")
    })
  )

  it.effect("the oldest comes first", () =>
    Effect.gen(function* () {
      const replicas = yield* Replicas
      const now = yield* Clock.currentTimeMillis
      for (const [id, startedAt] of [
        ["rep_c", 3],
        ["rep_a", 1],
        ["rep_b", 2]
      ] as const) {
        yield* replicas.beat(heartbeat({ id, startedAt: now + startedAt }))
      }
      const ids = (yield* replicas.all).map(({ id }) => id).filter((id) => /^rep_[abc]$/.test(id))
      assert.deepStrictEqual(ids, ["rep_a", "rep_b", "rep_c"])
    })
  )
}
