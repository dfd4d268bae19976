import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { command } from "../../support/processes/Command.ts"
import { startServer, temporaryDirectory } from "../../support/processes/Spawned.ts"
import * as Collector from "../../support/servers/Collector.ts"
import * as UpstreamServer from "../../support/servers/UpstreamServer.ts"
import * as Database from "../../support/stores/Database.ts"
import { describeWithPostgres } from "../../support/stores/Postgres.ts"

const timeout = 120_000

/** Answers `google`, and never answers `duckduckgo`. */
const engines = UpstreamServer.serve((received, response) => {
  const engine = received.query.get("engines") ?? "google"
  if (engine === "duckduckgo") return
  const rows = [{ url: "https://example.test/", title: "Title", content: "Snippet", engine, engines: [engine] }]
  UpstreamServer.json({ results: rows, unresponsive_engines: [] })(received, response)
})

const json = (env: Record<string, string>, ...args: ReadonlyArray<string>) =>
  Effect.map(command(env, ...args, "--json"), ({ stdout }) => JSON.parse(stdout))

/** Every span that a service exports that answers, waits in vain, refuses, and does its work in the background. */
const exported = Effect.gen(function* () {
  const collector = yield* Collector.start()
  const upstream = yield* engines
  const { url } = yield* Database.freshDatabase
  const file = join(yield* temporaryDirectory, "providers.json")
  writeFileSync(
    file,
    JSON.stringify({
      providers: { meta: { type: "searxng", url: upstream.url } },
      targets: {
        alpha_search: [{ provider: "meta", engine: "google" }],
        beta_search: [
          { provider: "meta", engine: "duckduckgo" },
          { provider: "meta", engine: "google" }
        ],
        gamma_search: [{ provider: "meta", engine: "duckduckgo" }]
      }
    })
  )
  const env = Database.settingsOf(url)
  const { port, server } = yield* startServer({
    ...env,
    QUARRY_PROVIDERS: file,
    PROVIDER_TIMEOUT: "3 seconds",
    BULK_BUDGET: "4500 millis",
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_TRACES_SAMPLER: "always_on",
    OTEL_BSP_SCHEDULE_DELAY: "100"
  })
  const { account_id } = yield* json(env, "account", "create", "--email", "a@example.org", "--plan", "starter")
  const { secret } = yield* json(env, "key", "create", "--account", account_id, "--name", "ci")
  const headers = { authorization: `Bearer ${secret}`, "content-type": "application/json" }
  const get = (path: string) =>
    Effect.promise(async () => void (await (await fetch(`http://127.0.0.1:${port}${path}`, { headers })).text()))
  yield* get("/v1/query?query=a")
  yield* get("/v1/query?query=b&target=beta_search")
  yield* get("/v1/query?query=c&target=gamma_search")
  yield* get("/v1/query?query=d&page=x")
  yield* get("/v1/me")
  yield* get("/nothing")
  const queries = Array.from({ length: 12 }, (_, n) => ({ query: `${n}`, target: "gamma_search" }))
  yield* Effect.promise(() =>
    fetch(`http://127.0.0.1:${port}/v1/bulk`, { method: "POST", headers, body: JSON.stringify({ queries }) })
  )
  server.kill("SIGTERM")
  yield* server.ended
  return collector
})

describeWithPostgres("the spans of a running service", () => {
  it.live(
    "an attempt that was too late says so, a statement says what it does, and nothing is left of work beside a request",
    () =>
      Effect.gen(function* () {
        const { spans } = yield* exported
        const byId = new Map(spans.map((span) => [span.spanId, span]))

        const late = spans.filter(({ attributes }) => attributes["quarry.engine"] === "duckduckgo")
        const attempts = late.filter(({ name }) => name === "Provider.search")
        assert.strictEqual(attempts.length, 12)
        for (const { attributes, events, status } of attempts) {
          assert.strictEqual(status, 2)
          assert.strictEqual(attributes["error.type"], attributes["quarry.refusal"])
          assert.strictEqual(events[0]?.attributes["quarry.refusal"], attributes["quarry.refusal"])
        }
        // Two single searches and the first five rows had their time; the batch ended in the time of the other five.
        const reasons = attempts.map(({ attributes }) => attributes["quarry.refusal"]).toSorted()
        assert.deepStrictEqual(reasons, [...Array(5).fill("cut_off"), ...Array(7).fill("timeout")])

        for (const { attributes, name, status } of spans) {
          assert.strictEqual(status === 2, attributes["error.type"] !== undefined, name)
          assert.notStrictEqual(attributes["error.type"], "", name)
          if (attributes["db.system.name"] !== undefined) assert.isString(attributes["db.operation.name"], name)
        }
        const statement = spans.find(({ attributes }) => attributes["db.query.text"] !== undefined)
        assert.deepInclude(statement?.attributes, { "db.operation.name": "SELECT" })
        assert.strictEqual(statement?.name, `SELECT ${statement?.attributes["db.namespace"]}`)

        for (const span of spans) {
          if (span.parentSpanId === "") {
            assert.isTrue(span.kind === 2 || span.links.length > 0, `${span.name} begins a trace of nobody`)
            continue
          }
          const parent = byId.get(span.parentSpanId)
          if (parent === undefined) return assert.fail(`the parent of ${span.name} is not there`)
          assert.isTrue(span.startNanos >= parent.startNanos && span.startNanos <= parent.endNanos, span.name)
          // Nobody waits for the end of an attempt that its batch has cut off.
          if (span.attributes["quarry.refusal"] === "cut_off") continue
          assert.isTrue(span.endNanos <= parent.endNanos, `${span.name} outlives ${parent.name}`)
        }
      }),
    timeout
  )
})
