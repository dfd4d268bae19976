import { writeFileSync } from "node:fs"
import type { ServerResponse } from "node:http"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import type { OtlpSpan } from "../../../otel/viewer/Otlp.ts"
import { version } from "../../../src/domain/version.ts"
import { type Ended, freePort, type Spawned, spawned, temporaryDirectory } from "../../support/processes/Spawned.ts"
import * as Collector from "../../support/servers/Collector.ts"
import * as UpstreamServer from "../../support/servers/UpstreamServer.ts"
import * as Database from "../../support/stores/Database.ts"
import * as EmbeddedStore from "../../support/stores/EmbeddedStore.ts"
import { describeWithPostgres } from "../../support/stores/Postgres.ts"

const timeout = 300_000

const canaries = {
  query: "canary-of-the-query",
  providerKey: "canary-of-the-provider-key",
  secretHeader: "canary-of-the-secret-header",
  pepper: "canary-of-the-pepper-0123456789abcdef",
  authSecret: "canary-of-the-auth-secret-0123456789",
  marketplace: "canary-of-the-marketplace-secret",
  cookie: "canary-of-the-cookie",
  redis: "canary-of-the-redis-password",
  postgres: "canary-of-the-postgres-password",
  otlp: "canary-of-the-collector-key"
}

/** Answers `google` and the second provider, refuses `bing` and `brave`, and never answers `duckduckgo`. */
const engines = UpstreamServer.serve((received, response) => {
  const engine = received.query.get("engines") ?? "google"
  const rows = [{ url: "https://example.test/", title: "Title", content: "Snippet", engine, engines: [engine] }]
  if (received.path.startsWith("/res/")) {
    return UpstreamServer.json({ web: { results: [{ url: "https://example.test/", title: "T", description: "D" }] } })(
      received,
      response
    )
  }
  if (engine === "duckduckgo") return
  const refused = engine === "bing" || engine === "brave"
  UpstreamServer.json(refused ? {} : { results: rows, unresponsive_engines: [] }, refused ? 500 : 200)(
    received,
    response
  )
})

const providerFile = (url: string) => ({
  providers: {
    meta: { type: "searxng", url, headers: { "x-secret": canaries.secretHeader } },
    second: { type: "brave", url, apiKey: canaries.providerKey }
  },
  targets: {
    alpha_search: [{ provider: "meta", engine: "google" }],
    beta_search: [{ provider: "meta", engine: "bing" }, { provider: "second" }],
    gamma_search: [{ provider: "meta", engine: "duckduckgo" }],
    delta_search: [{ provider: "meta", engine: "brave" }]
  }
})

const secrets = { KEY_PEPPER: canaries.pepper, AUTH_SECRET: canaries.authSecret }

/** A service with a collector behind it that has said it is up, and the key of its first start. */
const start = Effect.fnUntraced(function* (collector: string, env: Record<string, string> = {}, up = "curl") {
  const upstream = yield* engines
  const file = join(yield* temporaryDirectory, "providers.json")
  writeFileSync(file, JSON.stringify(providerFile(upstream.url)))
  const port = `${yield* freePort}`
  const process = yield* spawned("src/main.ts", [], {
    DATA_DIR: yield* EmbeddedStore.directoryWith(secrets),
    PORT: port,
    QUARRY_PROVIDERS: file,
    PROVIDER_TIMEOUT: "1 second",
    ...secrets,
    MARKETPLACE_PROXY_SECRET: canaries.marketplace,
    MARKETPLACE_PLAN: "growth",
    LOG_FORMAT: "json",
    OTEL_EXPORTER_OTLP_ENDPOINT: collector,
    OTEL_EXPORTER_OTLP_HEADERS: `x-key=${canaries.otlp}`,
    OTEL_TRACES_SAMPLER: "parentbased_always_on",
    OTEL_BSP_SCHEDULE_DELAY: "100",
    ...env
  })
  const [, secret = ""] = /Bearer (sk_live_\w+)/.exec(yield* process.said(up)) ?? []
  return { process, upstream, secret, address: `http://localhost:${port}` }
})

/** The key of an account made by the operator's commands. */
const keyOn = Effect.fnUntraced(function* (databaseUrl: string) {
  const env = { DATABASE_URL: databaseUrl, ...secrets }
  const run = (...args: ReadonlyArray<string>) =>
    Effect.flatMap(spawned("src/cli.ts", [...args, "--json"], env), ({ ended }) =>
      Effect.map(ended, ({ stdout }) => JSON.parse(stdout))
    )
  const { account_id } = yield* run("account", "create", "--email", "ops@example.org", "--plan", "starter")
  const { secret } = yield* run("key", "create", "--account", account_id, "--name", "ci")
  return String(secret)
})

const send = (url: string, init?: RequestInit) =>
  Effect.promise(async () => {
    const response = await fetch(url, init)
    return { status: response.status, headers: response.headers, body: await response.text() }
  })

/** Ends the process, which sends what it still has. */
const end = (process: Spawned) =>
  Effect.andThen(
    Effect.sync(() => process.kill("SIGTERM")),
    process.ended
  )

const repeat = <A>(count: number, of: (n: number) => A): Array<A> => Array.from({ length: count }, (_, n) => of(n))

/** Fifty rows: answered, identical, failed over, timed out, refused by all, and rejected for four reasons. */
const rows = [
  ...repeat(20, (n) => ({ query: `${canaries.query} ${n}` })),
  ...repeat(10, (n) => ({ query: `${canaries.query} ${n}` })),
  ...repeat(3, (n) => ({ query: `${canaries.query} ${n}`, target: "beta_search" })),
  ...repeat(3, (n) => ({ query: `${canaries.query} ${n}`, target: "gamma_search" })),
  ...repeat(2, (n) => ({ query: `${canaries.query} ${n}`, target: "delta_search" })),
  ...repeat(3, () => ({ query: "" })),
  ...repeat(3, () => ({ query: canaries.query, geo: "atlantis" })),
  ...repeat(3, () => ({ query: canaries.query, page: 2 })),
  ...repeat(3, () => 17)
]

const remote = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" }

const named = (spans: ReadonlyArray<OtlpSpan>, name: string) => spans.filter((span) => span.name === name)
const only = (spans: ReadonlyArray<OtlpSpan>): OtlpSpan => {
  const [span] = spans
  assert.strictEqual(spans.length, 1)
  if (span === undefined) throw new Error("there is none")
  return span
}

describe("telemetry", () => {
  it.live(
    "a batch is one trace: a span for each of its rows, with its attempts, its charge and no secret",
    () =>
      Effect.gen(function* () {
        const collector = yield* Collector.start()
        const { address, process, secret, upstream } = yield* start(collector.url)
        const headers = {
          authorization: `Bearer ${secret}`,
          "content-type": "application/json",
          traceparent: `00-${remote.traceId}-${remote.spanId}-01`,
          baggage: "who=canary"
        }
        const answer = yield* send(`${address}/v1/bulk`, {
          method: "POST",
          headers,
          body: JSON.stringify({ queries: rows })
        })
        assert.strictEqual(answer.status, 200)
        const { batch_id, results } = JSON.parse(answer.body)
        const { stdout } = yield* end(process)

        for (const signal of ["/v1/traces", "/v1/metrics", "/v1/logs"])
          assert.isTrue(collector.keys.has(signal), signal)
        assert.isTrue(collector.bodies.every((body) => body.includes("service.version") && body.includes(version)))

        const trace = collector.spans.filter(({ traceId }) => traceId === remote.traceId)
        const server = only(named(trace, "POST /v1/bulk"))
        assert.strictEqual(server.kind, 2)
        assert.strictEqual(server.parentSpanId, remote.spanId)
        assert.strictEqual(answer.headers.get("traceresponse"), `00-${remote.traceId}-${server.spanId}-01`)

        // No orphan: every parent was exported or is the caller's.
        const ids = new Set([remote.spanId, ...collector.spans.map(({ spanId }) => spanId)])
        for (const span of collector.spans) {
          if (span.parentSpanId !== "") assert.isTrue(ids.has(span.parentSpanId), span.name)
          for (const link of span.links) assert.isTrue(ids.has(link.spanId), `link of ${span.name}`)
          assert.isAtLeast(Number(span.endNanos - span.startNanos), 0)
        }
        for (const name of ["Credentials.authenticate", "RateLimiter.hit", "Bulk.run"]) {
          assert.strictEqual(only(named(trace, name)).parentSpanId, server.spanId)
        }

        const bulk = only(named(trace, "Bulk.run"))
        const rowSpans = named(trace, "quarry.row").toSorted(
          (a, b) => Number(a.attributes["quarry.row.index"]) - Number(b.attributes["quarry.row.index"])
        )
        assert.strictEqual(rowSpans.length, rows.length)
        for (const [index, span] of rowSpans.entries()) {
          const result = results[index]
          const outcome = result.status === "ok" ? "ok" : result.error
          const dispatched = index < 38
          const faulty = outcome === "upstream_error" || outcome === "upstream_timeout"
          assert.strictEqual(span.parentSpanId, bulk.spanId)
          assert.deepInclude(span.attributes, {
            "quarry.batch.id": batch_id,
            "quarry.row.index": index,
            "quarry.outcome": outcome,
            "quarry.credits": dispatched ? 1 : 0,
            "quarry.dispatched": dispatched,
            ...(faulty ? { "error.type": outcome } : {}),
            ...(dispatched ? { "quarry.geo": "us" } : {})
          })
          assert.strictEqual(span.status, faulty ? 2 : 0, `${index} ${outcome}`)
        }
        const told = (from: number, to: number, key: string) =>
          rowSpans.slice(from, to).map(({ attributes }) => attributes[key])
        // The first three of `bing` fail over; then its breaker may have opened, and the next is asked at once.
        assert.deepStrictEqual(
          told(30, 33, "quarry.provider"),
          repeat(3, () => "second")
        )
        assert.deepStrictEqual(
          told(33, 36, "quarry.outcome"),
          repeat(3, () => "upstream_timeout")
        )
        assert.deepStrictEqual(
          told(36, 38, "quarry.outcome"),
          repeat(2, () => "upstream_error")
        )
        // Identical rows have one answer: from the batch, the cache, or a call in flight that they are linked with.
        for (const span of rowSpans.slice(20, 30)) {
          const { "quarry.cached": cached, "quarry.joined": joined } = span.attributes
          assert.isTrue(cached === true || joined === true)
          if (joined === true) assert.isTrue(rowSpans.some(({ spanId }) => spanId === span.links[0]?.spanId))
        }

        const attempts = named(trace, "Provider.search")
        const attemptsOf = (index: number) =>
          attempts.filter(({ parentSpanId }) => parentSpanId === rowSpans[index]?.spanId)
        assert.deepStrictEqual(
          attemptsOf(30).map(({ attributes, events, kind, status }) => ({
            provider: attributes["quarry.provider"],
            engine: attributes["quarry.engine"],
            refusal: attributes["quarry.refusal"],
            answered: attributes["http.response.status_code"],
            events: events.map(({ name }) => name),
            kind,
            status
          })),
          [
            {
              provider: "meta",
              engine: "bing",
              refusal: "unreachable",
              answered: 500,
              events: ["quarry.refusal"],
              kind: 3,
              status: 2
            },
            { provider: "second", engine: undefined, refusal: undefined, answered: 200, events: [], kind: 3, status: 0 }
          ]
        )
        assert.strictEqual(attemptsOf(33)[0]?.attributes["quarry.refusal"], "timeout")
        assert.strictEqual(attemptsOf(38).length, 0)

        // Each call says whose it is, and nothing else of the caller.
        const searches = upstream.received.filter(({ path }) => path !== "/config")
        assert.strictEqual(searches.length, attempts.length)
        assert.deepStrictEqual(
          searches.map((it) => it.headers.traceparent).toSorted(),
          attempts.map(({ spanId }) => `00-${remote.traceId}-${spanId}-01`).toSorted()
        )
        assert.isTrue(searches.every((it) => it.headers.baggage === undefined && it.headers.b3 === undefined))

        // The ledger's statements carry many requests: traces of their own, linked both ways.
        for (const [statement, part] of [
          ["ledger_reserve", "Ledger.reserve"],
          ["ledger_settle", "Ledger.settle"]
        ] as const) {
          const mine = only(named(trace, part))
          assert.strictEqual(mine.parentSpanId, bulk.spanId)
          const batch = only(collector.spans.filter(({ spanId }) => spanId === mine.links[0]?.spanId))
          assert.strictEqual(batch.name, statement)
          assert.strictEqual(batch.parentSpanId, "")
          assert.notStrictEqual(batch.traceId, remote.traceId)
          assert.deepStrictEqual(batch.links, [{ traceId: remote.traceId, spanId: mine.spanId }])
          assert.strictEqual(batch.attributes["db.operation.name"], statement)
        }

        // One line for the request, with what finds everything else.
        const lines = stdout.split("\n").flatMap((line) => (line.startsWith("{") ? [JSON.parse(line)] : []))
        const [access, ...others] = lines.filter(({ annotations }) => annotations?.path === "/v1/bulk")
        assert.deepStrictEqual(others, [])
        assert.deepInclude(access.annotations, {
          trace_id: remote.traceId,
          span_id: server.spanId,
          principal: "key",
          route: "/v1/bulk",
          status: 200,
          outcome: "ok",
          batch_id,
          rows: 50,
          credits: 38
        })
        assert.isTrue(collector.logs.some((log) => log.body === access.message && log.traceId === remote.traceId))
      }),
    timeout
  )

  /** Does what may make a process tell of its secrets, and ends it; answers all that it has told. */
  const provoke = Effect.fnUntraced(function* (process: Spawned, address: string, secret: string) {
    const query = encodeURIComponent(canaries.query)
    const presented: ReadonlyArray<Record<string, string>> = [
      { authorization: `Bearer ${secret}` },
      { authorization: `Bearer ${secret}x` },
      { cookie: `quarry.session_token=${canaries.cookie}` },
      { "x-marketplace-proxy-secret": canaries.marketplace, "x-marketplace-user": "ada" },
      { "x-marketplace-proxy-secret": `${canaries.marketplace}x`, "x-marketplace-user": "ada" },
      {}
    ]
    for (const headers of presented) {
      for (const target of ["alpha_search", "beta_search", "gamma_search", "delta_search", query]) {
        yield* send(`${address}/v1/query?query=${query}&target=${target}`, { headers })
      }
      yield* send(`${address}/v1/bulk`, {
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body: JSON.stringify({ queries: rows.slice(28, 34) })
      })
      yield* send(`${address}/api/auth/sign-in/email?token=${canaries.cookie}`, { method: "POST", headers })
    }
    return yield* end(process)
  })

  const assertTellsNone = (collector: Collector.Collector, { stderr, stdout }: Ended, secret: string) => {
    // The first start shows its key once, on purpose.
    const places = { collector: collector.bodies.join("\n"), stdout: stdout.replaceAll(secret, ""), stderr }
    assert.include(places.collector, "quarry.refusal")
    assert.include(places.collector, "quarry.http")
    for (const [name, value] of Object.entries({ ...canaries, key: secret })) {
      for (const [place, text] of Object.entries(places)) assert.notInclude(text, value, `${name} in ${place}`)
    }
  }

  const talkative = {
    LOG_LEVEL: "trace",
    OTEL_METRIC_EXPORT_INTERVAL: "200",
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: `x-key=${canaries.otlp}-of-traces`,
    REDIS_URL: `redis://:${canaries.redis}@127.0.0.1:1`
  }

  it.live(
    "no secret and no search is in anything exported or printed, in any failure",
    () =>
      Effect.gen(function* () {
        const collector = yield* Collector.start()
        const { address, process, secret } = yield* start(collector.url, talkative)
        assertTellsNone(collector, yield* provoke(process, address, secret), secret)
        // The collector itself receives its secrets: a signal's own before the common one.
        assert.strictEqual(collector.keys.get("/v1/traces"), `${canaries.otlp}-of-traces`)
        assert.strictEqual(collector.keys.get("/v1/metrics"), canaries.otlp)
      }),
    timeout
  )

  describeWithPostgres("on Postgres", () => {
    it.live(
      "no secret is in anything that is exported or printed, the password of the database neither",
      () =>
        Effect.gen(function* () {
          const collector = yield* Collector.start()
          const { url } = yield* Database.freshDatabase
          const database = new URL(Redacted.value(url))
          database.password = canaries.postgres
          const env = { ...talkative, DATABASE_URL: database.href }
          const { address, process } = yield* start(collector.url, env, "Quarry listens at")
          const secret = yield* keyOn(database.href)
          assertTellsNone(collector, yield* provoke(process, address, secret), secret)
        }),
      timeout
    )
  })

  it.live(
    "TRACE_QUERY_TEXT: what is searched for is in spans then, and in no log line",
    () =>
      Effect.gen(function* () {
        const collector = yield* Collector.start()
        const { address, process, secret } = yield* start(collector.url, { TRACE_QUERY_TEXT: "true" })
        const headers = { authorization: `Bearer ${secret}` }
        yield* send(`${address}/v1/query?query=${encodeURIComponent(canaries.query)}`, { headers })
        const { stdout } = yield* end(process)
        assert.deepStrictEqual(
          collector.spans
            .filter(({ attributes }) => attributes["quarry.query"] === canaries.query)
            .map((it) => it.name),
          ["Search.run"]
        )
        assert.notInclude(stdout, canaries.query)
        for (const log of collector.logs) assert.notInclude(JSON.stringify(log), canaries.query)
      }),
    timeout
  )

  const loaders: ReadonlyArray<readonly [string, Record<string, string>, boolean]> = [
    ["is loaded where a collector is named", {}, true],
    ["is not loaded where none is", { OTEL_EXPORTER_OTLP_ENDPOINT: "" }, false],
    ["is not loaded where it is turned off", { OTEL_SDK_DISABLED: "true" }, false]
  ]
  it.live.each(loaders)(
    "OpenTelemetry's SDK %s",
    ([, env, isLoaded]) =>
      Effect.gen(function* () {
        const collector = yield* Collector.start()
        const hook = `--import=${new URL("../../support/processes/loadedPackages.ts", import.meta.url)}`
        const { process } = yield* start(collector.url, { NODE_OPTIONS: hook, ...env })
        const { stderr } = yield* end(process)
        const [, packages] = /^loaded: (.*)$/m.exec(stderr) ?? []
        if (isLoaded) assert.include(packages, "@opentelemetry/otlp-exporter-base")
        else assert.strictEqual(packages, "")
      }),
    timeout
  )

  const searchTimes = Effect.fnUntraced(function* (address: string, secret: string) {
    const times: Array<number> = []
    for (let n = 0; n < 150; n++) {
      const startedAt = performance.now()
      const { status } = yield* send(`${address}/v1/query?query=same`, {
        headers: { authorization: `Bearer ${secret}` }
      })
      times.push(performance.now() - startedAt)
      assert.strictEqual(status, 200)
    }
    return times
  })

  const faults: ReadonlyArray<readonly [string, ((response: ServerResponse) => void) | "refused"]> = [
    ["refuses the connection", "refused"],
    ["never answers", () => {}],
    ["answers 500", (response) => response.writeHead(500).end()]
  ]
  it.live.each(faults)(
    "a collector that %s delays no answer, and what it did not take is dropped and counted",
    ([, fault]) =>
      Effect.gen(function* () {
        const url = fault === "refused" ? `http://127.0.0.1:${yield* freePort}` : (yield* Collector.start(fault)).url
        const admin = `${yield* freePort}`
        const { address, process, secret } = yield* start(url, {
          ADMIN_PORT: admin,
          OTEL_BSP_MAX_QUEUE_SIZE: "100",
          OTEL_BSP_MAX_EXPORT_BATCH_SIZE: "50",
          OTEL_EXPORTER_OTLP_TIMEOUT: "2000",
          LOG_LEVEL: "warn"
        })
        const times = yield* searchTimes(address, secret)
        // The exporter's own timeouts are seconds: a search that waited for one would show it.
        assert.isBelow(Math.max(...times.slice(10)), 1000)
        const { body } = yield* send(`http://127.0.0.1:${admin}/metrics`)
        assert.match(body, /quarry_telemetry_dropped_total\{[^}]*signal="traces"[^}]*\} [1-9]/)
        const before = performance.now()
        const { code } = yield* end(process)
        assert.strictEqual(code, 0)
        assert.isBelow(performance.now() - before, 15_000)
      }),
    timeout
  )
})
