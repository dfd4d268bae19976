import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { assert, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { Webhook } from "standardwebhooks"
import * as Postgres from "../../../src/layers/sql/store/Postgres.ts"
import { freePort, spawned } from "../../support/processes/Spawned.ts"
import { freshDatabase } from "../../support/stores/Database.ts"
import { describeWithPostgres } from "../../support/stores/Postgres.ts"

/** Events in the run; `QUARRY_TEST_EVENTS` makes it longer. */
const count = Number(process.env.QUARRY_TEST_EVENTS ?? 8)

interface Got {
  readonly id: string
  readonly type: string
}

/** A receiver that verifies what it gets, and holds answers back while `isSlow`. */
const receiver = Effect.acquireRelease(
  Effect.promise(
    () =>
      new Promise<{
        url: string
        secret: string
        isSlow: boolean
        began: number
        readonly got: Array<Got>
        readonly forged: Array<string>
        readonly close: () => void
      }>((resolve) => {
        const server = createServer((request, response) => {
          state.began += 1
          let text = ""
          request.setEncoding("utf8").on("data", (chunk) => {
            text += chunk
          })
          request.on("end", () => {
            if (state.isSlow) return
            try {
              // None of these headers comes twice.
              new Webhook(state.secret).verify(text, request.headers as Record<string, string>)
              state.got.push({ id: String(request.headers["webhook-id"]), type: JSON.parse(text).type })
            } catch (error) {
              state.forged.push(String(error))
            }
            response.writeHead(204).end()
          })
        }).listen(0, "127.0.0.1", () => {
          // It listens on a port, so its address is an object.
          state.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
          resolve(state)
        })
        const close = () => {
          server.closeAllConnections()
          server.close()
        }
        const got: Array<Got> = []
        const forged: Array<string> = []
        const state = { url: "", secret: "", isSlow: true, began: 0, got, forged, close }
      })
  ),
  ({ close }) => Effect.sync(close)
)

/** Ends what the killed replica has taken, which no other replica takes for half a minute. */
const endLeases = (url: Redacted.Redacted) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`update event_deliveries set due_at = clock_timestamp() where is_taken returning id`
  ).pipe(Effect.provide(Postgres.layer({ url, poolSize: 1 }), { local: true }))

const until = (isTrue: () => boolean) =>
  Effect.promise(async () => {
    while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 50))
  })

describeWithPostgres("webhooks over real processes", () => {
  it.live(
    "R53: a replica that is killed while it delivers loses nothing: another one delivers every event",
    () =>
      Effect.gen(function* () {
        const hook = yield* receiver
        const { url } = yield* freshDatabase
        const env = {
          LOG_FORMAT: "json",
          DATABASE_URL: Redacted.value(url),
          AUTH_SECRET: "a secret for tests, of 32 characters or more",
          KEY_PEPPER: "a pepper for tests of 32 characters or more",
          WEBHOOKS_ALLOW_PRIVATE: "true"
        }
        const ports = [yield* freePort, yield* freePort]
        const origin = (n: number) => `http://localhost:${ports[n]}`
        const first = yield* spawned("src/main.ts", [], { ...env, PORT: `${ports[0]}` })
        yield* first.said("Quarry listens at ")
        let cookie = ""
        const call = (n: number, path: string, body: unknown) =>
          Effect.promise(async () => {
            const headers = { origin: origin(n), cookie, "content-type": "application/json" }
            const response = await fetch(`${origin(n)}${path}`, {
              method: "POST",
              headers,
              body: JSON.stringify(body)
            })
            const [set] = response.headers.getSetCookie()
            if (set !== undefined) cookie = set.split(";", 1).join("")
            assert.isBelow(response.status, 300, path)
            // Of the answers, the test reads the secret of a webhook alone.
            return (await response.json()) as { readonly secret: string }
          })
        const person = { email: "person@example.com", password: "correct horse battery staple", name: "A Person" }
        yield* call(0, "/api/auth/sign-up/email", person)
        const made = yield* call(0, "/v1/webhooks", { url: hook.url })
        hook.secret = made.secret
        for (let n = 0; n < count; n++) yield* call(0, "/v1/api-keys", { name: `key ${n}` })
        yield* until(() => hook.began >= 2)
        first.kill("SIGKILL")
        yield* first.ended
        hook.isSlow = false
        assert.isAbove((yield* endLeases(url)).length, 0)
        const second = yield* spawned("src/main.ts", [], { ...env, PORT: `${ports[1]}` })
        yield* second.said("Quarry listens at ")
        const ids = () => new Set(hook.got.map(({ id }) => id))
        yield* until(() => ids().size >= count)
        assert.deepStrictEqual([...new Set(hook.got.map(({ type }) => type))], ["key.created"])
        assert.deepStrictEqual(hook.forged, [])
        assert.strictEqual(ids().size, count)
        console.log(`${count} events, ${hook.got.length} received after the kill, ${hook.began} requests in all`)
      }),
    300_000
  )
})
