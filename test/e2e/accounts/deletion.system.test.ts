import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { startServer } from "../../support/processes/Spawned.ts"
import { freshDatabase, settingsOf } from "../../support/stores/Database.ts"
import { describeWithPostgres } from "../../support/stores/Postgres.ts"

const send = (method: string, url: string, headers: Record<string, string>, body?: object) =>
  Effect.promise(async () => {
    const response = await fetch(url, {
      method,
      headers: { "content-type": "application/json", ...headers },
      body: body === undefined ? null : JSON.stringify(body)
    })
    return { status: response.status, cookie: response.headers.getSetCookie()[0] ?? "", text: await response.text() }
  })

describeWithPostgres("an account that is deleted at one process", () => {
  it.live(
    "R85: its keys get 401 at once at another process, which has just used them, on every route",
    () =>
      Effect.gen(function* () {
        const { url } = yield* freshDatabase
        const start = Effect.map(startServer({ ...settingsOf(url), COMPAT: "tavily" }), ({ origin }) => origin)
        const [origin, other] = yield* Effect.all([start, start], { concurrency: 2 })
        const person = { email: "person@example.com", password: "correct horse battery staple", name: "A Person" }
        const signUp = yield* send("POST", `${origin}/api/auth/sign-up/email`, { origin }, person)
        const cookie = signUp.cookie.split(";", 1).join("")
        const issued = yield* send("POST", `${origin}/v1/api-keys`, { origin, cookie }, { name: "CI" })
        const headers = { authorization: `Bearer ${JSON.parse(issued.text).secret}` }
        const statuses = Effect.all(
          [
            send("GET", `${other}/v1/me`, headers),
            send("GET", `${other}/v1/query?query=http`, headers),
            send("POST", `${other}/v1/bulk`, headers, { queries: ["http"] }),
            send("GET", `${other}/v1/page?url=${encodeURIComponent("http://127.0.0.1:9/")}`, headers),
            send("POST", `${other}/v1/pages`, headers, { urls: ["http://127.0.0.1:9/"] }),
            send("POST", `${other}/compat/tavily/search`, headers, { query: "http" })
          ].map((answer) => Effect.map(answer, ({ status }) => status))
        )
        for (const status of yield* statuses) assert.notStrictEqual(status, 401)
        assert.strictEqual((yield* send("DELETE", `${origin}/v1/account`, { cookie, origin })).status, 204)
        assert.deepStrictEqual(yield* statuses, Array(6).fill(401))
      }),
    120_000
  )
})
