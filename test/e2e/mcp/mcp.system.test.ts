import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import * as Engine from "../../../torture/support/Engine.ts"
import { call, connected, refusedCall } from "../../support/api/McpClient.ts"
import { command } from "../../support/processes/Command.ts"
import { startServer } from "../../support/processes/Spawned.ts"
import { describeWithRedis, redisServer } from "../../support/servers/RedisServer.ts"
import { freshDatabase, settingsOf } from "../../support/stores/Database.ts"
import * as EmbeddedStore from "../../support/stores/EmbeddedStore.ts"
import { describeWithPostgres } from "../../support/stores/Postgres.ts"

const timeout = 120_000

describe("the official MCP client", () => {
  it.live(
    "connects with the first start's key, lists the tools and calls each of them",
    () =>
      Effect.gen(function* () {
        const { origin, server } = yield* startServer({ DATA_DIR: yield* EmbeddedStore.directory })
        const [secret = ""] = /sk_live_\w+/.exec(yield* server.said("curl")) ?? []
        const { client, complaints } = yield* connected(secret, origin)
        assert.strictEqual(client.getServerVersion()?.name, "quarry")
        const { tools } = yield* Effect.promise(() => client.listTools())
        assert.sameMembers(
          tools.map(({ name }) => name),
          ["web_search", "bulk_search", "read_page", "account"]
        )
        // The client holds each of these answers to the tool's output schema.
        const one = yield* call(client, "web_search", { query: "http caching", num: 3 })
        assert.strictEqual(one.structuredContent.results.organic.length, 3)
        const many = yield* call(client, "bulk_search", { queries: ["css grid", { query: "fetch", num: 2 }, ""] })
        assert.deepInclude(many.structuredContent, { total: 3, succeeded: 2, failed: 1 })
        const { structuredContent } = yield* call(client, "account")
        assert.strictEqual(structuredContent.credits_available, 200_000 - 3)
        const failed = yield* call(client, "web_search", { query: "a", geo: "zz" })
        assert.isTrue(failed.isError)
        assert.match(failed.content[0]?.text ?? "", /^unsupported_geo: /)
        assert.deepStrictEqual(complaints, [], "R35: a client that asks for a stream to listen to does without it")
      }),
    timeout
  )
})

describeWithPostgres("MCP on Postgres", () => {
  describeWithRedis("and Redis", () => {
    it.live(
      "two replicas answer one client by turns, charge each search once, and refuse as one",
      () =>
        Effect.gen(function* () {
          const { url } = yield* freshDatabase
          const redis = yield* redisServer
          const env = {
            ...settingsOf(url),
            REDIS_URL: Redacted.value(redis.url()),
            SEARXNG_URL: yield* Engine.start
          }
          const cli = (...args: ReadonlyArray<string>) =>
            Effect.map(command(env, ...args, "--json"), ({ stdout }) => JSON.parse(stdout))
          const replica = Effect.map(startServer(env), ({ origin }) => origin)
          const addresses = [yield* replica, yield* replica] as const
          const plan = ["--plan", "custom", "--quota", "12", "--concurrency", "1"]
          const { account_id } = yield* cli("account", "create", "--email", "ops@example.org", ...plan)
          const { secret } = yield* cli("key", "create", "--account", account_id, "--name", "agent")
          const { client } = yield* connected(secret, ...addresses)

          for (let n = 0; n < 8; n++) {
            const { isError, structuredContent } = yield* call(client, "web_search", { query: `css grid ${n}` })
            assert.isUndefined(isError)
            assert.strictEqual(structuredContent.query, `css grid ${n}`)
          }
          const rows = yield* call(client, "bulk_search", { queries: ["css grid 1", "fetch", ""] })
          assert.strictEqual(rows.structuredContent.succeeded, 2)
          assert.strictEqual((yield* call(client, "account")).structuredContent.credits_available, 2)
          const tooMany = yield* call(client, "bulk_search", { queries: ["a", "b", "c"] })
          assert.isTrue(tooMany.isError)
          assert.deepInclude(tooMany._meta["quarry/error"], { error: "quota_exceeded", remaining: 2, quota: 12 })
          assert.match(tooMany.content[0]?.text ?? "", /before the quota resets at \d{4}-/)
          assert.strictEqual((yield* call(client, "account")).structuredContent.credits_available, 2)

          let status: number | undefined
          for (let n = 0; n < 60 && status === undefined; n++) status = yield* refusedCall(client, "account")
          assert.strictEqual(status, 429, "both replicas count the key's requests together")
          assert.deepStrictEqual((yield* cli("account", "show", "--id", account_id)).allowance.used, 10)
          assert.deepStrictEqual(yield* cli("ledger", "verify"), { ok: true, discrepancies: [] })
        }),
      timeout
    )
  })
})
