import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted, Schedule } from "effect"
import { targets } from "../../../src/domain/search/Target.ts"
import { command } from "../../support/processes/Command.ts"
import { freePort, spawned, temporaryDirectory } from "../../support/processes/Spawned.ts"
import { statusByHost } from "../../support/servers/statusByHost.ts"
import { emptyDatabase, serverUrl } from "../../support/stores/Database.ts"
import * as EmbeddedStore from "../../support/stores/EmbeddedStore.ts"
import { describeWithPostgres } from "../../support/stores/Postgres.ts"

const timeout = 120_000

const listens = "Quarry listens at "

const start = (env: Record<string, string>) => spawned("src/main.ts", [], { LOG_FORMAT: "json", ...env })

/** What the first start's line with the key has beside its message, in a log of which every line is an object. */
const greetingOf = (stdout: string) => {
  const entries = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line))
  const { base_url, curl, key } = entries.find((entry) => "key" in entry) ?? assert.fail(stdout)
  return { base_url, key, curl }
}

/** The log of a start that fails has warnings at most: on a busy machine the database may answer the first check late. */
const assertDidNotStart = (code: number | null, stdout: string): void => {
  assert.strictEqual(code, 1)
  // The books of a new store are verified in the background, which may end before the listener starts.
  const lines = stdout.split("\n").filter((line) => line !== "" && !line.includes("Verified the ledger."))
  for (const line of lines) assert.strictEqual(JSON.parse(line).level, "WARN", line)
}

describe("a misspelled variable", () => {
  it.live(
    "is warned about in one line that names it and the setting, and never its value",
    () =>
      Effect.gen(function* () {
        const files = yield* temporaryDirectory
        const providers = join(files, "providers.json")
        writeFileSync(providers, JSON.stringify({ providers: { own: { type: `\${SEARXNG_URLS}` } }, targets: {} }))
        const wrong = { DATABSE_URL: "hunter2", TRUSTED_PROXY_HOP: "hunter2", QUARY_PROVIDERS: "hunter2" }
        const env = { ...wrong, SEARXNG_URLS: "hunter2", QUARRY_PROVIDERS: providers }
        const { code, stderr } = yield* (yield* spawned("src/cli.ts", ["config"], { LOG_FORMAT: "json", ...env })).ended
        const lines = stderr.trimEnd().split("\n")
        assert.strictEqual(code, 0)
        assert.sameMembers(
          lines.map((line) => JSON.parse(line).message),
          [
            "DATABSE_URL is not a setting and is ignored. Did you mean DATABASE_URL?",
            "TRUSTED_PROXY_HOP is not a setting and is ignored. Did you mean TRUSTED_PROXY_HOPS?",
            "QUARY_PROVIDERS is not a setting and is ignored. Did you mean QUARRY_PROVIDERS?"
          ]
        )
        assert.notInclude(stderr, "hunter2")
        const failed = yield* (yield* start({ ...wrong, WORKERS: "2" })).ended
        assert.strictEqual(failed.code, 1)
        assert.include(
          failed.stderr,
          "quarry: DATABSE_URL is not a setting and is ignored. Did you mean DATABASE_URL?\n"
        )
        assert.notInclude(failed.stderr, "hunter2")
      }),
    timeout
  )
})

describe("npm start on the embedded default", () => {
  it.live(
    "the first start prints a curl line that answers; later ones keep the data and print no secret",
    () =>
      Effect.gen(function* () {
        const DATA_DIR = yield* EmbeddedStore.directory
        const ports = { PORT: `${yield* freePort}`, ADMIN_PORT: `${yield* freePort}` }
        const env = { DATA_DIR, ...ports, ADMIN_HOSTS: "metrics.example.com" }

        const first = yield* start(env)
        const greeting = yield* first.said("curl")
        assert.include(greeting, `"${listens}http://127.0.0.1:${env.PORT} (BASE_URL is http://localhost:${env.PORT})"`)
        assert.include(greeting, "and a power cut. Set DATABASE_URL for production.")
        const [, secret, address] = /curl -H 'Authorization: Bearer (sk_live_\w+)' '(\S+)'/.exec(greeting) ?? []
        const search = Effect.promise(async () => {
          const response = await fetch(`${address}`, { headers: { authorization: `Bearer ${secret}` } })
          return { status: response.status, text: await response.text() }
        })
        const answers = Effect.map(search, ({ status, text }) => {
          assert.strictEqual(status, 200)
          assert.include(text, '"position":1')
        })
        yield* answers
        const ready = yield* Effect.promise(() => fetch(`http://127.0.0.1:${env.ADMIN_PORT}/readyz`))
        assert.strictEqual(ready.status, 200)
        // R72: a page whose own name leads to this machine reads nothing of the private listener.
        assert.strictEqual(yield* statusByHost(env.ADMIN_PORT, "/metrics", "metrics.example.com"), 200)
        assert.strictEqual(yield* statusByHost(env.ADMIN_PORT, "/metrics", "evil.example"), 403)
        // R34: neither listener serves the other's routes, and R3: no second spelling of a route is one.
        for (const [port, path] of [
          [env.PORT, "/healthz"],
          [env.PORT, "/metrics"],
          [env.PORT, "/providers"],
          [env.PORT, "/V1/me"],
          [env.PORT, "//v1/me"],
          [env.PORT, "/v1/me/"],
          [env.ADMIN_PORT, "/v1/me"]
        ]) {
          const response = yield* Effect.promise(() => fetch(`http://127.0.0.1:${port}${path}`))
          assert.strictEqual(response.status, 404, `${path} on ${port}`)
        }

        const other = yield* Effect.flatMap(start({ DATA_DIR, PORT: `${yield* freePort}` }), ({ ended }) => ended)
        assert.strictEqual(other.code, 1)
        assert.match(other.stderr, new RegExp(`^quarry: [^\\n]*in use by process ${first.pid}[^\\n]*\\n$`))

        first.kill("SIGKILL")
        yield* first.ended

        const second = yield* start(env)
        yield* second.said(listens)
        yield* answers
        // Every line of a JSON log is JSON.
        assert.deepStrictEqual(greetingOf(greeting), {
          base_url: `http://localhost:${env.PORT}`,
          key: secret,
          curl: `curl -H 'Authorization: Bearer ${secret}' '${address}'`
        })
        second.kill("SIGTERM")
        const { code, stderr, stdout } = yield* second.ended
        assert.deepStrictEqual([code, stderr], [0, ""])
        assert.notInclude(stdout, "sk_live_")
        for (const line of stdout.trimEnd().split("\n")) assert.isString(JSON.parse(line).message)
      }),
    timeout
  )

  it.live(
    "the log names the port that was bound where the settings leave it open",
    () =>
      Effect.gen(function* () {
        const server = yield* start({
          DATA_DIR: yield* EmbeddedStore.directory,
          HOST: "127.0.0.1",
          PORT: "0",
          BASE_URL: "https://search.example.com",
          LOG_FORMAT: "json"
        })
        const log = yield* server.said(listens)
        const [, bound = "", baseUrl] = /listens at (http:\/\/127\.0\.0\.1:\d+) \(BASE_URL is (\S+)\)/.exec(log) ?? []
        assert.strictEqual(baseUrl, "https://search.example.com")
        assert.strictEqual((yield* Effect.promise(() => fetch(`${bound}/v1/me`))).status, 401)
      }),
    timeout
  )

  it.live.each(["HOST", "ADMIN_HOST"])(
    "an address that is not this machine's is one line and exit 1: %s",
    (name) =>
      Effect.gen(function* () {
        const ports = { PORT: `${yield* freePort}`, ADMIN_PORT: `${yield* freePort}` }
        const env = { DATA_DIR: yield* EmbeddedStore.directory, ...ports, [name]: "192.0.2.1" }
        const { code, stderr, stdout } = yield* Effect.flatMap(start(env), (it) => it.ended)
        assertDidNotStart(code, stdout)
        assert.match(stderr, /^quarry: [^\n]*EADDRNOTAVAIL[^\n]*HOST[^\n]*\n$/)
      }),
    timeout
  )

  it.live.each(["/proc/nope", "/dev/null", "/dev/null/below", "damaged"])(
    "a data directory that cannot be used is one line and exit 1: %s",
    (name) =>
      Effect.gen(function* () {
        const damaged = join(yield* temporaryDirectory, "store")
        mkdirSync(damaged)
        writeFileSync(join(damaged, "secrets.json"), '{"authSecret":')
        const DATA_DIR = name === "damaged" ? damaged : name
        const { code, stderr, stdout } = yield* Effect.flatMap(start({ DATA_DIR }), (it) => it.ended)
        assert.deepStrictEqual([code, stdout], [1, ""])
        assert.match(stderr, /^quarry: DATA_DIR [^\n]*\n$/)
        assert.include(stderr, DATA_DIR)
      })
  )

  it.live(
    "what a caller without a credential sends is cut in the log, and its mistakes are neither errors nor warnings",
    () =>
      Effect.gen(function* () {
        const PORT = `${yield* freePort}`
        const process = yield* start({ DATA_DIR: yield* EmbeddedStore.directory, PORT })
        const before = yield* process.said(listens)
        const long = "Z".repeat(900_000)
        const person = { email: "person@example.com", password: "correct horse battery staple", name: "A Person" }
        const statuses: Array<number> = []
        for (const [path, body] of [
          ["/api/auth/sign-in/email", { ...person, callbackURL: `https://evil.example/${long}` }],
          ["/api/auth/sign-up/email", { ...person, callbackURL: `https://evil.example/\n${long}` }],
          ["/api/auth/request-password-reset", { email: "nobody@example.com" }],
          ["/api/auth/sign-in/email", { email: "nobody@example.com", password: long }]
        ] as const) {
          const response = yield* Effect.promise(() =>
            fetch(`http://127.0.0.1:${PORT}${path}`, {
              method: "POST",
              headers: { "content-type": "application/json", origin: `http://localhost:${PORT}` },
              body: JSON.stringify(body)
            })
          )
          statuses.push(response.status)
        }
        assert.isBelow(Math.max(...statuses), 500)
        process.kill("SIGTERM")
        const log = (yield* process.ended).stdout.slice(before.length).trimEnd().split("\n")
        assert.isAtLeast(log.length, statuses.length)
        for (const line of log) {
          assert.isAtMost(Buffer.byteLength(line), 1_024)
          assert.strictEqual(JSON.parse(line).level, "INFO", line)
        }
      }),
    timeout
  )
})

/** A start that ends because of a server, which says why in one line. */
const startLine = (env: Record<string, string>) =>
  Effect.gen(function* () {
    const { code, stderr, stdout } = yield* Effect.flatMap(
      start({ DATA_DIR: yield* EmbeddedStore.directory, PORT: `${yield* freePort}`, ...env }),
      (it) => it.ended
    )
    assertDidNotStart(code, stdout)
    assert.match(stderr, /^quarry: [^\n]*\n$/)
    return stderr
  })

const secrets = { AUTH_SECRET: "a".repeat(32), KEY_PEPPER: "k".repeat(32) }

describeWithPostgres("npm start on a Postgres that it cannot use", () => {
  it.live("a database that does not exist is one line that names it", () =>
    Effect.gen(function* () {
      const url = new URL(serverUrl)
      url.pathname = "/quarry_no_such_database"
      const line = yield* startLine({ ...secrets, DATABASE_URL: url.href })
      assert.match(line, /database "quarry_no_such_database" does not exist/)
    })
  )

  it.live("a login that is refused is one line without the password", () =>
    Effect.gen(function* () {
      const url = new URL(serverUrl)
      url.username = "quarry_no_such_role"
      url.password = "hunter2"
      const line = yield* startLine({ ...secrets, DATABASE_URL: url.href })
      assert.match(line, /DATABASE_URL/)
      assert.notInclude(line, "hunter2")
    })
  )
})

describeWithPostgres("npm start on Postgres without providers", () => {
  it.live(
    "I4: warns of each target while the index is empty, charges nothing, and serves once documents are loaded",
    () =>
      Effect.gen(function* () {
        const { url } = yield* emptyDatabase
        const env = { ...secrets, DATABASE_URL: Redacted.value(url), PORT: `${yield* freePort}`, LOG_FORMAT: "json" }
        const quarry = (...args: ReadonlyArray<string>) =>
          Effect.gen(function* () {
            const { code, stderr, stdout } = yield* command(env, ...args, "--json")
            assert.strictEqual(code, 0, stderr)
            return JSON.parse(stdout)
          })
        const server = yield* start(env)
        const said = yield* server.said(listens)
        for (const target of targets) assert.include(said, `Nothing serves ${target}: `)

        const { account_id: id } = yield* quarry("account", "create", "--email", "a@example.com")
        const { secret } = yield* quarry("key", "create", "--account", id, "--name", "test")
        const search = Effect.promise(async () => {
          const response = await fetch(`http://localhost:${env.PORT}/v1/query?query=http`, {
            headers: { authorization: `Bearer ${secret}` }
          })
          return [response.status, response.headers.get("x-credits-used")]
        })
        assert.deepStrictEqual(yield* search, [502, "0"])

        const file = join(yield* temporaryDirectory, "documents.jsonl")
        writeFileSync(file, JSON.stringify({ url: "https://a.test/", title: "HTTP", description: "HTTP" }))
        yield* quarry("index", "load", file)
        const served = yield* Effect.repeat(search, {
          until: ([status]) => status === 200,
          schedule: Schedule.spaced("1 second"),
          times: 30
        })
        assert.deepStrictEqual(served, [200, "1"])
      }),
    timeout
  )
})
