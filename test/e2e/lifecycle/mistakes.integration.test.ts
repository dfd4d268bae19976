import { execFileSync, spawn } from "node:child_process"
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { join } from "node:path"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Exit, FileSystem, Layer, Redacted } from "effect"
import * as PacerMemory from "../../../src/layers/memory/PacerMemory.ts"
import * as ProviderFile from "../../../src/layers/providers/ProviderFile.ts"
import { UpstreamClient } from "../../../src/layers/providers/UpstreamClient.ts"
import * as Migrations from "../../../src/layers/sql/Migrations.ts"
import { lockDirectory } from "../../../src/layers/sql/store/DirectoryLock.ts"
import * as Postgres from "../../../src/layers/sql/store/Postgres.ts"
import { explain } from "../../../src/process/lifecycle/explain.ts"
import { Secrets } from "../../../src/process/secrets/Secrets.ts"
import { DocumentIndex } from "../../../src/services/index/DocumentIndex.ts"
import { AppConfig } from "../../../src/settings/Settings.ts"
import { aCaller, found, providing, services } from "../../support/api/Services.ts"
import * as TestApi from "../../support/api/TestApi.ts"
import { spawned, temporaryDirectory } from "../../support/processes/Spawned.ts"
import * as EmbeddedStore from "../../support/stores/EmbeddedStore.ts"

const root = new URL("../../../", import.meta.url)
const timeout = 240_000

/** The messages that the page promises, by the mistakes in its first column. */
const promised = new Map(
  Array.from(
    readFileSync(new URL("docs/guides/mistakes.md", root), "utf8").matchAll(/^\| (.+?) \| `(.+?)` \| .+ \|$/gm),
    ([, mistake = "", message = ""]) => [mistake, message] as const
  )
)

const made = new Set<string>()

const assertSays = (mistake: string, message: string): void => {
  assert.include(message, promised.get(mistake) ?? assert.fail(`the page has no row "${mistake}"`))
  made.add(mistake)
}

const endOf = (env: Record<string, string>) =>
  Effect.flatMap(
    spawned("src/main.ts", [], { LOG_FORMAT: "json", PORT: "0", BASE_URL: "http://localhost:3000", ...env }),
    ({ ended }) =>
      Effect.map(ended, ({ code, stderr }) => {
        assert.strictEqual(code, 1)
        // One sentence for a person, and no stack trace.
        for (const line of stderr.trimEnd().split("\n")) assert.match(line, /^quarry: /)
        return stderr
      })
  )

const taken = Effect.acquireRelease(
  Effect.promise(
    () =>
      new Promise<{ readonly port: number; readonly close: () => void }>((resolve) => {
        const server = createServer().listen(0, "127.0.0.1", () => {
          const address = server.address()
          resolve({ port: typeof address === "object" ? (address?.port ?? 0) : 0, close: () => server.close() })
        })
      })
  ),
  ({ close }) => Effect.sync(close)
)

/** What the start prints when one of its parts fails, without starting a process. */
const complaintOf = <A>(part: Effect.Effect<A, unknown>) =>
  Effect.map(Effect.exit(part), (exit) =>
    Exit.isFailure(exit) ? (explain(exit.cause) ?? "a bug") : assert.fail("the part works")
  )

const settingsFrom = (env: Record<string, string>) =>
  Effect.provide(
    AppConfig,
    AppConfig.layer.pipe(Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnvRecord(env))))
  )

const providersFrom = (text: string) =>
  ProviderFile.table({ _tag: "file", path: "providers.json" }).pipe(
    Effect.provide([
      Layer.mock(UpstreamClient, {}),
      Layer.mock(DocumentIndex, {}),
      PacerMemory.layer,
      FileSystem.layerNoop({ readFileString: () => Effect.succeed(text) }),
      ConfigProvider.layer(ConfigProvider.fromEnvRecord({}))
    ])
  )

const secretsIn = (dataDir: string) =>
  Effect.provide(Secrets, Layer.fresh(Secrets.layer).pipe(Layer.provide(AppConfig.layerTest({ dataDir }))))

const unreachable = Postgres.layer({ url: Redacted.make("postgres://a:b@127.0.0.1:1/quarry"), poolSize: 1 })

const brave = `{"providers":{"brave":{"type":"brave","apiKey":"\${BRAVE_KEY}"}},"targets":{"alpha_search":[{"provider":"brave"}]}}`

describe("a newcomer's mistakes at the start are one sentence that says what to do", () => {
  it.live("no packages", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      mkdirSync(join(directory, "bin"))
      cpSync(new URL("bin/quarry-server", root), join(directory, "bin/quarry-server"))
      const child = spawn(join(directory, "bin/quarry-server"), { stdio: ["ignore", "ignore", "pipe"] })
      const said = yield* Effect.promise(async () => {
        let text = ""
        for await (const chunk of child.stderr) text += chunk
        return text
      })
      assertSays("`npm start` before `npm install`", said)
    })
  )

  it.live("an old Node, where the packages brought none", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      for (const folder of ["bin", "node_modules", "path"]) mkdirSync(join(directory, folder))
      cpSync(new URL("bin/quarry-server", root), join(directory, "bin/quarry-server"))
      const node = '#!/bin/sh\ncase "$1" in -p) echo false ;; *) echo v20.1.0 ;; esac\n'
      writeFileSync(join(directory, "path/node"), node, { mode: 0o755 })
      const env = { PATH: `${join(directory, "path")}:${process.env.PATH}` }
      const run = () => execFileSync(join(directory, "bin/quarry-server"), { env, stdio: ["ignore", "ignore", "pipe"] })
      assert.throws(run, /Node 24 or later is needed here, not v20\.1\.0\. Run: npm run postinstall/)
    })
  )

  it.live(
    "ports, directories and names of settings, as a process that ends",
    () =>
      Effect.gen(function* () {
        const { port } = yield* taken
        const DATA_DIR = yield* EmbeddedStore.directory
        assertSays("another program uses the port", yield* endOf({ DATA_DIR, PORT: `${port}` }))
        yield* lockDirectory(DATA_DIR)
        assertSays("two processes on one data directory", yield* endOf({ DATA_DIR }))
        assertSays("a setting with a typing error", yield* endOf({ DATABSE_URL: "postgres://a", PORT: "x" }))
      }),
    timeout
  )

  it.live("other directories, databases, secrets and providers", () =>
    Effect.gen(function* () {
      const other = yield* temporaryDirectory
      writeFileSync(join(other, "letter.txt"), "")
      const secrets = secretsIn(other).pipe(Effect.provide(NodeServices.layer))
      assertSays("the data directory holds other files", yield* complaintOf(secrets))
      const withoutSecrets = settingsFrom({ DATABASE_URL: "postgres://a:b@127.0.0.1:1/quarry" })
      assertSays("a database without secrets", yield* complaintOf(withoutSecrets))
      assertSays("the database is down", yield* complaintOf(Effect.provide(Migrations.run, unreachable)))
      assertSays("a provider without its key", yield* complaintOf(providersFrom(brave)))
      assertSays("a provider file that is not JSON", yield* complaintOf(providersFrom("{'providers': {}}")))
    })
  )
})

describe("a newcomer's mistakes in a request are one sentence that says what to do", () => {
  it.effect("keys, paths, methods, names, JSON, numbers and credits", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const { secret } = yield* aCaller({ plan: "trial" })
      const key = { authorization: `Bearer ${secret}` }
      const messageOf = Effect.fnUntraced(function* (mistake: string, path: string, headers: Record<string, string>) {
        assertSays(mistake, (yield* api.get(path, headers)).json.message)
      })
      const batch = Effect.fnUntraced(function* (mistake: string, body: string) {
        const headers = { ...key, "content-type": "application/json" }
        assertSays(mistake, (yield* api.send("POST", "/v1/bulk", { headers, body })).json.message)
      })
      yield* messageOf("no key", "/v1/query?query=a", {})
      yield* messageOf("the key in another header", "/v1/query?query=a", { "x-api-key": secret })
      yield* messageOf("the key without `Bearer`", "/v1/query?query=a", { authorization: secret })
      yield* messageOf("a key that is cut or revoked", "/v1/query?query=a", { authorization: "Bearer sk_live_abc" })
      for (const path of ["/query", "/v1/query/", "/V1/query", "//v1/query", "/search", "/v1/search"]) {
        yield* messageOf("a path without `/v1`, or with a slash at the end", `${path}?query=a`, key)
      }
      const posted = yield* api.send("POST", "/v1/query", { headers: key, body: "query=a" })
      assertSays("POST instead of GET", posted.json.message)
      for (const path of ["/healthz", "/readyz", "/metrics", "/health"]) {
        yield* messageOf("a health check on the public port", path, {})
      }
      assert.include((yield* api.get("/compat/other?q=a", key)).json.message, "COMPAT=")
      yield* messageOf("`q` instead of `query`", "/v1/query?q=a", key)
      yield* batch("JSON with single quotes", "{'queries':['a']}")
      yield* batch("a number in quotes", '{"queries":["a"],"num":"5"}')
      const queries = Array.from({ length: 50 }, (_, index) => `query ${index}`)
      for (let sent = 0; sent < 2; sent++) {
        const headers = { ...key, "content-type": "application/json" }
        yield* api.send("POST", "/v1/bulk", { headers, body: JSON.stringify({ queries }) })
      }
      yield* messageOf("no credits left", "/v1/query?query=a", key)
    }).pipe(Effect.provide(Layer.fresh(services(providing(() => Effect.succeed(found(1)))))))
  )

  it("the page has no other mistakes", () => {
    assert.sameMembers([...promised.keys()], [...made])
    assert.strictEqual(promised.size, 20)
  })
})
