import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Postgres from "../../../src/layers/sql/store/Postgres.ts"
import { fakeClock, faketimeLibrary } from "../../support/processes/faketime.ts"
import { startServer } from "../../support/processes/Spawned.ts"
import { freshDatabase, settingsOf } from "../../support/stores/Database.ts"
import { describeWithPostgres } from "../../support/stores/Postgres.ts"

if (faketimeLibrary === undefined && process.env.QUARRY_REQUIRE_SERVICES === "1") {
  throw new Error("QUARRY_REQUIRE_SERVICES=1, but Debian's package libfaketime is not installed")
}

const replica = Effect.fnUntraced(function* (env: Record<string, string>) {
  const { port, server, started } = yield* startServer(env)
  const send = (method: string, path: string, headers: Record<string, string>, body?: object) =>
    Effect.promise(async () => {
      const response = await fetch(`http://127.0.0.1:${port}${path}`, {
        method,
        headers: { origin: env.BASE_URL ?? "", "content-type": "application/json", ...headers },
        body: body === undefined ? null : JSON.stringify(body)
      })
      const cookies = response.headers.getSetCookie().map((line) => line.split(";", 1).join(""))
      return { status: response.status, text: await response.text(), cookie: cookies[0] ?? "" }
    })
  return { send, said: server.said, started }
})

const clocks = [
  ["ten days ahead", { offset: "+10d", side: "ahead of" }],
  ["ten days behind", { offset: "-10d", side: "behind" }]
] as const

describeWithPostgres("two replicas", () => {
  describe.skipIf(faketimeLibrary === undefined)("with libfaketime", () => {
    it.live.each(clocks)(
      "R55: a session is the same at both, and lives for a week, when the clock of one is %s",
      ([, { offset, side }]) =>
        Effect.gen(function* () {
          const { url } = yield* freshDatabase
          const env = { ...settingsOf(url), BASE_URL: "http://quarry.test" }
          const right = yield* replica(env)
          const wrong = yield* replica({ ...env, ...fakeClock(offset) })
          assert.match(wrong.started, new RegExp(`This machine's clock is (10d|9d 23h)[^.]* ${side} the database's`))
          for (const [index, [one, other]] of [[right, wrong] as const, [wrong, right] as const].entries()) {
            const person = { email: `p${index}@example.com`, password: "correct horse battery staple", name: "P" }
            const { cookie, status } = yield* one.send("POST", "/api/auth/sign-up/email", {}, person)
            assert.strictEqual(status, 200)
            for (const { send } of [other, one, other]) {
              const { text } = yield* send("GET", "/api/auth/get-session", { cookie })
              assert.include(text, person.email)
              assert.strictEqual((yield* send("GET", "/v1/usage", { cookie })).status, 200)
            }
          }
          const sessions = yield* Effect.flatMap(
            SqlClient.SqlClient,
            (sql) =>
              sql`select extract(epoch from expires_at - clock_timestamp())::float8 / 86400 as days from auth_sessions`
          ).pipe(Effect.provide(Postgres.layer({ url, poolSize: 1 })))
          assert.strictEqual(sessions.length, 2)
          for (const { days } of sessions) assert.closeTo(Number(days), 7, 0.01)
        }),
      120_000
    )
  })
})
