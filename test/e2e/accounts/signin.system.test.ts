import { assert, describe, it } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { startServer } from "../../support/processes/Spawned.ts"
import { lastLink, mailServer } from "../../support/servers/MailServer.ts"
import * as EmbeddedStore from "../../support/stores/EmbeddedStore.ts"

describe("sign-in over real HTTP", () => {
  it.live(
    "a person signs up, is known by the cookie, and signs out",
    () =>
      Effect.gen(function* () {
        const { origin, server } = yield* startServer({ DATA_DIR: yield* EmbeddedStore.directory })
        const send = (method: string, path: string, body?: string, headers: Record<string, string> = {}) =>
          Effect.promise(async () => {
            const type: Record<string, string> = body === undefined ? {} : { "content-type": "application/json" }
            const response = await fetch(`${origin}/api/auth${path}`, {
              method,
              headers: { origin, ...type, ...headers },
              body: body ?? null,
              redirect: "manual"
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

        for (const [path, body, field] of [
          ["/sign-in/email", { ...person, oauth_query: [1] }, "oauth_query"],
          ["/sign-in/email", { ...person, callbackURL: "//evil.example" }, "callbackURL"],
          ["/sign-up/email", { ...person, email: "nobody" }, "email"]
        ] as const) {
          const refused = yield* send("POST", path, JSON.stringify(body))
          const { error, issues } = JSON.parse(refused.text)
          assert.deepStrictEqual([refused.status, error, issues[0].field], [400, "invalid_request", field])
        }

        const unoffered = yield* send("POST", "/update-user", "{}", { cookie })
        assert.deepStrictEqual([unoffered.status, JSON.parse(unoffered.text).error], [404, "not_found"])
        const large = yield* send("POST", "/reset-password", "x".repeat(1_100_000))
        assert.deepStrictEqual([large.status, JSON.parse(large.text).error], [400, "invalid_request"])

        // Without a mail server the link is in the log. Whoever gets it from the operator chooses the password.
        // The start has printed a link of the developer's before.
        const log = yield* server.said(`email to ${person.email}`)
        const [, link = ""] = /email to person@\S+ .*?(http\S+\/oauth\/confirm\?token=\w+)/.exec(log) ?? []
        const fields = { token: new URL(link).searchParams.get("token") ?? "", password: "the owner's own" }
        const pages = yield* Effect.promise(async () => [
          await fetch(link),
          await fetch(`${origin}/api/auth/verify-email?token=${fields.token}`),
          await fetch(link, {
            method: "POST",
            headers: { origin },
            body: new URLSearchParams(fields),
            redirect: "manual"
          })
        ])
        assert.deepStrictEqual(
          pages.map(({ status }) => status),
          [200, 404, 303]
        )
        for (const [password, status] of [
          [person.password, 401],
          [fields.password, 200]
        ] as const) {
          const body = JSON.stringify({ email: person.email, password })
          assert.strictEqual((yield* send("POST", "/sign-in/email", body)).status, status)
        }
      }),
    120_000
  )

  it.live(
    "with a mail server, the reader of an address's mail chooses its password, and opening the link changes nothing",
    () =>
      Effect.gen(function* () {
        const { port: smtp, said } = yield* mailServer("220 test ESMTP")
        const { origin } = yield* startServer({
          DATA_DIR: yield* EmbeddedStore.directory,
          SMTP_URL: `smtp://127.0.0.1:${smtp}`,
          EMAIL_FROM: "quarry@example.com"
        })
        const send = (path: string, type?: string, body?: string) =>
          Effect.promise(async () => {
            const response = await fetch(`${origin}${path}`, {
              method: body === undefined ? "GET" : "POST",
              headers: { origin, ...(type === undefined ? {} : { "content-type": type }) },
              body: body ?? null,
              redirect: "manual"
            })
            return { status: response.status, headers: response.headers, text: await response.text() }
          })
        const post = (path: string, body: object) => send(path, "application/json", JSON.stringify(body))
        const signIn = (password: string) => post("/api/auth/sign-in/email", { email, password })
        const email = "owner@example.com"
        const next = "/oauth/sign-in?client_id=app"

        const attack = { email, password: "the attacker's own", name: "A Person", callbackURL: next }
        assert.strictEqual((yield* post("/api/auth/sign-up/email", attack)).status, 200)
        const link = yield* Effect.sync(() => lastLink(said)).pipe(
          Effect.flatMap(Effect.fromNullishOr),
          Effect.retry({ schedule: Schedule.spaced("50 millis"), times: 200 })
        )
        const { pathname, search, searchParams } = new URL(link)
        const page = yield* send(`${pathname}${search}`)
        assert.deepStrictEqual([page.status, pathname], [200, "/oauth/confirm"])
        assert.strictEqual((yield* signIn("the attacker's own")).status, 401)

        const fields = { token: searchParams.get("token") ?? "", next: searchParams.get("callbackURL") ?? "" }
        const form = (password: string) =>
          send(pathname, "application/x-www-form-urlencoded", String(new URLSearchParams({ ...fields, password })))
        const common = yield* form("12345678")
        assert.deepStrictEqual([common.status, common.text.includes("most common passwords")], [400, true])
        const done = yield* form("the owner's own")
        assert.deepStrictEqual([done.status, done.headers.get("location")], [303, next])
        assert.include(done.headers.getSetCookie().join(), "quarry.session_token=")
        const over = yield* form("the attacker's own")
        assert.deepStrictEqual([over.status, over.text.includes("This link has expired")], [400, true])
        // The link has signed in too, and an address may sign in three times in ten seconds.
        yield* Effect.sleep("11 seconds")
        assert.strictEqual((yield* signIn("the owner's own")).status, 200)
        assert.strictEqual((yield* signIn("the attacker's own")).status, 401)
      }),
    120_000
  )
})
