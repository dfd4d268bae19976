import { assert, it } from "@effect/vitest"
import { Effect, Redacted, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import * as Postgres from "../../../src/layers/sql/store/Postgres.ts"
import { command } from "../../support/processes/Command.ts"
import { startServer } from "../../support/processes/Spawned.ts"
import { freshDatabase } from "../../support/stores/Database.ts"
import { describeWithPostgres } from "../../support/stores/Postgres.ts"

const timeout = 300_000

const value = (name: string) => `${name} for tests with its 32 characters and more`
const before = { KEY_PEPPER: value("the old pepper"), AUTH_SECRET: value("the old secret") }
const after = { KEY_PEPPER: value("the new pepper"), AUTH_SECRET: value("the new secret") }
const both = {
  KEY_PEPPER: `${after.KEY_PEPPER},${before.KEY_PEPPER}`,
  AUTH_SECRET: `${after.AUTH_SECRET},${before.AUTH_SECRET}`
}

const send = async (port: number, method: string, path: string, headers: Record<string, string>, body?: object) => {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: { origin: "http://quarry.test", "content-type": "application/json", ...headers },
    body: body === undefined ? null : JSON.stringify(body)
  })
  const cookies = response.headers.getSetCookie().map((line) => line.split(";", 1).join(""))
  return { status: response.status, text: await response.text(), cookie: cookies[0] }
}

const deployment = Effect.gen(function* () {
  const { url } = yield* freshDatabase
  const base = { DATABASE_URL: Redacted.value(url), BASE_URL: "http://quarry.test" }
  const quarry = (secrets: Record<string, string>, ...args: ReadonlyArray<string>) =>
    command({ ...base, ...secrets }, ...args, "--json")
  const statusOf = (secrets: Record<string, string>, name: string) =>
    Effect.map(quarry(secrets, "secrets", "status"), ({ stdout }) =>
      JSON.parse(stdout).secrets.find((it: { readonly name: string }) => it.name === name)
    )
  const statement = (text: string) =>
    Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(text)).pipe(
      Effect.provide(Postgres.layer({ url, poolSize: 1 }))
    )
  return { base, quarry, statusOf, statement }
})

describeWithPostgres("secrets that are rotated", () => {
  it.live(
    "R56: two replicas that are restarted one after the other answer no key with 401",
    () =>
      Effect.gen(function* () {
        const { base, quarry, statusOf } = yield* deployment
        const ports: Array<number> = []
        const servers: Array<Effect.Success<ReturnType<typeof startServer>>["server"]> = []
        for (let index = 0; index < 2; index++) {
          const { port, server } = yield* startServer({ ...base, ...before })
          ports[index] = port
          servers[index] = server
        }
        const made = yield* quarry(before, "account", "create", "--email", "a@example.org", "--plan", "business")
        const account = JSON.parse(made.stdout).account_id
        const keys: Array<string> = []
        const addKey = (secrets: Record<string, string>) =>
          Effect.map(quarry(secrets, "key", "create", "--account", account, "--name", `k${keys.length}`), (it) =>
            keys.push(JSON.parse(it.stdout).secret)
          )
        yield* addKey(before)
        yield* addKey(before)

        const statuses = new Map<number, number>()
        const call = Effect.promise(async () => {
          for (const key of keys) {
            for (const port of [...ports]) {
              const { status } = await send(port, "GET", "/v1/me", { authorization: `Bearer ${key}` }).catch(() => ({
                status: 0
              }))
              statuses.set(status, (statuses.get(status) ?? 0) + 1)
            }
          }
        })
        yield* Effect.forkScoped(Effect.repeat(call, Schedule.spaced("150 millis")))

        const restartAll = Effect.fnUntraced(function* (secrets: Record<string, string>) {
          for (let index = 0; index < 2; index++) {
            // As a load balancer does: a replica that drains gets no requests.
            const port = ports.splice(index, 1)[0] ?? 0
            yield* Effect.sleep("500 millis")
            servers[index]?.kill("SIGTERM")
            const started = yield* startServer({ ...base, ...secrets })
            assert.notStrictEqual(started.port, port)
            ports.splice(index, 0, started.port)
            servers[index] = started.server
          }
        })

        // One of two has the new value: it is not taken into use.
        const early = yield* Effect.gen(function* () {
          const port = ports.splice(0, 1)[0]
          assert.isDefined(port)
          yield* Effect.sleep("500 millis")
          servers[0]?.kill("SIGTERM")
          const started = yield* startServer({ ...base, ...both })
          ports.splice(0, 0, started.port)
          servers[0] = started.server
          return yield* quarry(both, "secrets", "rotate")
        })
        assert.strictEqual(early.code, 1)
        assert.match(
          early.stderr,
          /1 running processes do not have the new (KEY_PEPPER|AUTH_SECRET): restart them with/
        )
        yield* addKey(before)

        yield* restartAll(both)
        yield* addKey(both)
        const rotated = yield* quarry(both, "secrets", "rotate")
        assert.strictEqual(rotated.code, 0, rotated.stderr)
        yield* addKey(both)
        yield* Effect.repeat(statusOf(both, "KEY_PEPPER"), {
          until: ({ remaining, state }) => state === "rotating" && remaining === 0,
          schedule: Schedule.spaced("1 second")
        })
        const alone = yield* quarry(after, "key", "list", "--account", account)
        assert.strictEqual(alone.code, 1)
        assert.match(alone.stderr, /KEY_PEPPER is being rotated, and the old value is not given/)
        assert.strictEqual((yield* quarry(both, "secrets", "finish")).code, 0)
        yield* restartAll(after)
        yield* Effect.sleep("2 seconds")
        assert.deepStrictEqual(Array.from(statuses.keys()).sort(), [200])
        assert.isAbove(statuses.get(200) ?? 0, 100)
        assert.strictEqual(keys.length, 5)
      }),
    timeout
  )

  it.live(
    "R56: a session outlives a rotation, and another secret than that in use stops the start",
    () =>
      Effect.gen(function* () {
        const { base, quarry, statement, statusOf } = yield* deployment
        const first = yield* startServer({ ...base, ...before })
        const person = { email: "p@example.com", password: "correct horse battery staple", name: "P" }
        const signUp = yield* Effect.promise(() => send(first.port, "POST", "/api/auth/sign-up/email", {}, person))
        assert.strictEqual(signUp.status, 200, signUp.text)
        const cookie = signUp.cookie ?? ""
        first.server.kill("SIGTERM")
        yield* first.server.ended

        const wrong = yield* quarry(after, "account", "show", "--email", person.email)
        assert.strictEqual(wrong.code, 1)
        assert.match(
          wrong.stderr,
          /^quarry: KEY_PEPPER is not the secret that the API keys of this database were made with\. Set that secret again;.*\n$/
        )

        const second = yield* startServer({ ...base, ...both })
        const session = (port: number, presented: string) =>
          Effect.promise(async () => {
            const usage = await send(port, "GET", "/v1/usage", { cookie: presented })
            const shown = await send(port, "GET", "/api/auth/get-session", { cookie: presented })
            return { usage: usage.status, knows: shown.text.includes(person.email), cookie: shown.cookie }
          })
        assert.deepInclude(yield* session(second.port, cookie), { usage: 200, knows: true })
        assert.strictEqual((yield* quarry(both, "secrets", "rotate")).code, 0)
        assert.deepInclude(yield* session(second.port, cookie), { usage: 200, knows: true })
        assert.strictEqual((yield* statusOf(both, "AUTH_SECRET")).remaining, 1)
        const early = yield* quarry(both, "secrets", "finish")
        assert.strictEqual(early.code, 1)
        assert.match(
          early.stderr,
          /1 sessions, refresh tokens, second factors and secrets of webhooks were not renewed since AUTH_SECRET was rotated/
        )

        // Two days later the library extends the session. Once the process follows, its cookie has the new value.
        const renewed = yield* Effect.gen(function* () {
          yield* statement("update auth_sessions set expires_at = expires_at - interval '2 days'")
          const extended = yield* session(second.port, cookie)
          assert.deepInclude(extended, { usage: 200, knows: true })
          return { ...extended, remaining: (yield* statusOf(both, "AUTH_SECRET")).remaining }
        }).pipe(Effect.repeat({ until: ({ remaining }) => remaining === 0, schedule: Schedule.spaced("1 second") }))
        assert.strictEqual((yield* quarry(both, "secrets", "finish")).code, 0)
        second.server.kill("SIGTERM")
        const third = yield* startServer({ ...base, ...after })
        assert.deepInclude(yield* session(third.port, renewed.cookie ?? ""), { usage: 200, knows: true })
        assert.deepInclude(yield* session(third.port, cookie), { usage: 401, knows: false })
      }),
    timeout
  )
})
