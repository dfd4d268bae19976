import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { freePort, spawned } from "../support/Spawned.ts"

describe("sign-in over real HTTP", () => {
  it.live(
    "a person signs up, is known by the cookie, and signs out",
    () =>
      Effect.gen(function* () {
        const port = yield* freePort
        const server = yield* spawned("src/main.ts", [], { LOG_FORMAT: "json", DATA_DIR: "memory:", PORT: `${port}` })
        yield* server.said("Quarry listens at ")
        const origin = `http://localhost:${port}`
        const send = (method: string, path: string, body?: string, headers: Record<string, string> = {}) =>
          Effect.promise(async () => {
            const type: Record<string, string> = body === undefined ? {} : { "content-type": "application/json" }
            const response = await fetch(`${origin}/api/auth${path}`, {
              method,
              headers: { origin, ...type, ...headers },
              body: body ?? null
            })
            assert.isNotNull(response.headers.get("x-request-id"))
            return { status: response.status, headers: response.headers, text: await response.text() }
          })

        const person = { email: "person@example.com", password: "correct horse battery staple", name: "A Person" }
        const signUp = yield* send("POST", "/sign-up/email", JSON.stringify(person))
        assert.strictEqual(signUp.status, 200)
        const [cookie = ""] = signUp.headers.getSetCookie().map((line) => line.split(";", 1).join(""))
        assert.match(cookie, /^quarry\.session_token=/)
        const { text } = yield* send("GET", "/get-session", undefined, { cookie })
        assert.include(text, person.email)
        assert.strictEqual((yield* send("POST", "/sign-out", undefined, { cookie })).status, 200)
        assert.strictEqual((yield* send("GET", "/get-session", undefined, { cookie })).text, "null")

        const unoffered = yield* send("POST", "/update-user", "{}", { cookie })
        assert.deepStrictEqual([unoffered.status, JSON.parse(unoffered.text).error], [404, "not_found"])
        const large = yield* send("POST", "/reset-password", "x".repeat(1_100_000))
        assert.deepStrictEqual([large.status, JSON.parse(large.text).error], [400, "invalid_request"])
      }),
    120_000
  )
})
