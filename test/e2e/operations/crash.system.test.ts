import { assert, it } from "@effect/vitest"
import { Clock, Effect, Fiber, type Redacted } from "effect"
import { command } from "../../support/processes/Command.ts"
import { startServer } from "../../support/processes/Spawned.ts"
import { type Answer, json, serve } from "../../support/servers/UpstreamServer.ts"
import { freshDatabase, settingsOf } from "../../support/stores/Database.ts"
import { describeWithPostgres } from "../../support/stores/Postgres.ts"

const result = { url: "https://example.org/a", title: "A", content: "a", engine: "google", engines: ["google"] }
const found = json({ results: [result], unresponsive_engines: [] })

/** An engine that can withhold its responses. */
const makeEngine = Effect.gen(function* () {
  let answer: Answer = found
  const upstream = yield* serve((received, response) => answer(received, response))
  const set = (next: Answer) =>
    Effect.sync(() => {
      answer = next
    })
  return { ...upstream, set }
})

const makeEnv = (database: Redacted.Redacted, engine: string) => ({
  ...settingsOf(database),
  SEARXNG_URL: engine,
  CACHE_SIZE: "0"
})

type Env = ReturnType<typeof makeEnv>

const quarry = (env: Env, ...args: ReadonlyArray<string>) =>
  Effect.map(command(env, ...args, "--json"), ({ code, stdout }) => ({ code, json: JSON.parse(stdout) }))

const makeKey = Effect.fnUntraced(function* (env: Env) {
  const { json: account } = yield* quarry(env, "account", "create", "--email", "a@example.org", "--plan", "growth")
  const { json: key } = yield* quarry(env, "key", "create", "--account", account.account_id, "--name", "ci")
  return { account: account.account_id as string, secret: key.secret as string }
})

const sendBatch = async (url: string, secret: string, queries: ReadonlyArray<string>) => {
  const response = await fetch(`${url}/v1/bulk`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${secret}`,
      "content-type": "application/json",
      "idempotency-key": "one"
    },
    body: JSON.stringify({ queries })
  })
  return { status: response.status, body: (await response.json()) as { readonly succeeded?: number } }
}

const rows = (count: number) => Array.from({ length: count }, (_, index) => `query ${index}`)

/** Fails unless the account was charged for `charged` searches and the ledger verifies. */
const assertBooks = Effect.fnUntraced(function* (env: Env, account: string, charged: number) {
  const { json: shown } = yield* quarry(env, "account", "show", "--id", account)
  assert.strictEqual(shown.allowance.used, charged)
  assert.deepInclude((yield* quarry(env, "holds", "list")).json, { open: 0 })
  assert.strictEqual((yield* quarry(env, "ledger", "verify")).code, 0)
})

describeWithPostgres("a replica that is killed in a batch", () => {
  it.live(
    "R29, R44: the retry at another replica runs within 40 seconds, and is charged once",
    () =>
      Effect.gen(function* () {
        const engine = yield* makeEngine
        const { url: database } = yield* freshDatabase
        const env = makeEnv(database, engine.url)
        const first = yield* startServer(env)
        const second = yield* startServer(env)
        const { account, secret } = yield* makeKey(env)
        yield* engine.set(() => {})
        const lost = yield* Effect.forkChild(
          Effect.exit(Effect.tryPromise(() => sendBatch(first.origin, secret, rows(3))))
        )
        while (engine.open() === 0) yield* Effect.sleep("50 millis")
        first.server.kill("SIGKILL")
        yield* first.server.ended
        const killedAt = yield* Clock.currentTimeMillis
        yield* engine.set(found)
        const retried = yield* Effect.promise(() => sendBatch(second.origin, secret, rows(3)))
        const seconds = ((yield* Clock.currentTimeMillis) - killedAt) / 1000
        console.log(`The retry was answered ${seconds} s after the kill.`)
        assert.deepStrictEqual([retried.status, retried.body.succeeded], [200, 3])
        assert.isBelow(seconds, 40)
        yield* Fiber.await(lost)
        yield* assertBooks(env, account, 3)
      }),
    { timeout: 120_000 }
  )
})
