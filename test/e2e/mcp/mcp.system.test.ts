import { assert, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import * as Engine from "../../../torture/support/Engine.ts"
import { call, connected, refusedCall } from "../../support/api/McpClient.ts"
import { command } from "../../support/processes/Command.ts"
import { startServer } from "../../support/processes/Spawned.ts"
import { describeWithRedis, redisServer } from "../../support/servers/RedisServer.ts"
import { freshDatabase, settingsOf } from "../../support/stores/Database.ts"
import { describeWithPostgres } from "../../support/stores/Postgres.ts"

const timeout = 120_000

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
