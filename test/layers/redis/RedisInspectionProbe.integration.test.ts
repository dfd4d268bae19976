import { assert, it } from "@effect/vitest"
import { Effect, type Redacted } from "effect"
import * as RedisInspectionProbe from "../../../src/layers/redis/RedisInspectionProbe.ts"
import { RedisInspection } from "../../../src/services/operations/RedisInspection.ts"
import { describeWithRedis, RedisServer } from "../../support/servers/RedisServer.ts"

const look = (url: Redacted.Redacted) =>
  Effect.flatMap(RedisInspection, ({ look }) => look).pipe(
    Effect.provide(RedisInspectionProbe.layer({ url }), { local: true })
  )

const server = (...args: ReadonlyArray<string>) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const server = await RedisServer.make("hunter2", ...args)
      await server.start()
      return server
    }),
    (server) => Effect.promise(() => server.stop())
  )

describeWithRedis("a look at Redis", () => {
  it.live("finds a writable server and a stopped server", () =>
    Effect.gen(function* () {
      const redis = yield* server()
      assert.deepStrictEqual(yield* look(redis.url()), { state: "answers", reason: null })
      yield* Effect.promise(() => redis.stop())
      const { reason, state } = yield* look(redis.url())
      assert.strictEqual(state, "away")
      assert.match(reason ?? "", /ECONNREFUSED|no connection/)
    })
  )

  it.live("names the reason of a failure: frozen, full, or another password, which it does not show", () =>
    Effect.gen(function* () {
      const redis = yield* server("--maxmemory", "1", "--maxmemory-policy", "noeviction")
      assert.match((yield* look(redis.url())).reason ?? "", /OOM/)
      const wrong = yield* look(redis.url("hunter3"))
      assert.match(wrong.reason ?? "", /WRONGPASS|NOAUTH/)
      assert.notInclude(JSON.stringify(wrong), "hunter")
      redis.signal("SIGSTOP")
      assert.strictEqual((yield* look(redis.url())).state, "away")
      redis.signal("SIGCONT")
    })
  )
})
