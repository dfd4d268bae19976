import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Metric } from "effect"
import { HttpServer } from "effect/http"
import { vi } from "vitest"
import { Refusal } from "../../../src/domain/providers/Refusal.ts"
import * as Admin from "../../../src/http/admin/Admin.ts"
import * as Ids from "../../../src/layers/Ids.ts"
import * as ProcessMetrics from "../../../src/layers/telemetry/ProcessMetrics.ts"
import { Overview } from "../../../src/services/operations/Overview.ts"
import { Readiness } from "../../../src/services/operations/Readiness.ts"
import { ProviderStates } from "../../../src/services/providers/ProviderStates.ts"
import * as Listener from "../../support/api/Listener.ts"
import { searchRequest } from "../../support/api/requests.ts"
import { status } from "../../support/api/status.ts"
import { connect, search } from "../../support/api/Wire.ts"

const admin = Admin.listener({ host: "127.0.0.1", port: 0, hosts: ["metrics.example.com"] }).pipe(
  Layer.provideMerge(
    Layer.mergeAll(
      Ids.layer,
      Readiness.layer,
      ProviderStates.layer,
      ProcessMetrics.layer,
      Layer.succeed(Overview, { look: Effect.succeed(status({})) })
    )
  ),
  Layer.provideMerge(Layer.sync(Metric.MetricRegistry, () => new Map()))
)

const get = Effect.fnUntraced(function* (path: string, headers: Record<string, string> = {}) {
  const { address } = yield* HttpServer.HttpServer
  const port = "port" in address ? address.port : 0
  return yield* Effect.promise(async () => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers })
    return {
      status: response.status,
      type: response.headers.get("content-type"),
      id: response.headers.get("x-request-id"),
      text: await response.text()
    }
  })
})

describe("the private listener", () => {
  layer(admin, { excludeTestServices: true })("on one store", (it) => {
    it.effect("/healthz answers while the process is up", () =>
      Effect.gen(function* () {
        assert.deepInclude(yield* get("/healthz"), { status: 200, text: `{"status":"up"}` })
      })
    )

    it.effect("R70: parses no more than 64 parameters, and no escapes in a path", () =>
      Effect.gen(function* () {
        const decode = vi.spyOn(globalThis, "decodeURIComponent")
        const tooMany = yield* get(`/readyz?${"a=%zz&".repeat(65)}`)
        const escaped = yield* get(`/${"%25".repeat(1000)}`)
        const decoded = decode.mock.calls.length
        decode.mockRestore()
        assert.deepInclude(tooMany, { status: 400, text: `{"error":"invalid_request"}` })
        assert.deepInclude(escaped, { status: 404, text: `{"error":"not_found"}` })
        assert.strictEqual(decoded, 0)
        assert.strictEqual((yield* get(`/readyz?${"a=1&".repeat(64)}`)).status, 503)
      })
    )

    it.effect("R54: /readyz says that requests are taken, and /readyz?full what fails", () =>
      Effect.gen(function* () {
        const readiness = yield* Readiness
        assert.deepInclude(yield* get("/readyz"), { status: 503, text: `{"ready":false,"listener":"starting"}` })
        yield* readiness.setListener("serving")
        yield* readiness.add("database", Effect.fail("gone"))
        assert.deepInclude(yield* get("/readyz"), { status: 200, text: `{"ready":true,"listener":"serving"}` })
        assert.deepInclude(yield* get("/readyz?full"), {
          status: 503,
          text: `{"ready":true,"listener":"serving","healthy":false,"checks":{"database":"failed"},"background":{}}`
        })
        const { text } = yield* get("/metrics")
        assert.match(text, /^quarry_ready 1$/m)
        assert.match(text, /^quarry_readiness_check\{check="database"\} 0$/m)
      })
    )

    it.effect("/status shows the deployment as `quarry status` does", () =>
      Effect.gen(function* () {
        const { text, ...response } = yield* get("/status")
        assert.strictEqual(response.status, 200)
        assert.deepStrictEqual(JSON.parse(text), status({}))
      })
    )

    it.effect("/metrics has the process, and requests by route and status, under no name that a caller chose", () =>
      Effect.gen(function* () {
        const { port } = yield* Listener.start()
        const client = yield* connect(port)
        yield* client.send(search("css grid"))
        yield* client.send("GET /chosen-by-caller HTTP/1.1\r\nHost: a\r\n\r\n")
        yield* client.send("not HTTP\r\n\r\n")
        yield* client.closed
        const { status, text, type } = yield* get("/metrics")
        assert.strictEqual(status, 200)
        assert.match(type ?? "", /^text\/plain; version=0\.0\.4/)
        const answered = (method: string, route: string, status: number) =>
          `\nhttp_server_request_duration_seconds_count{http_request_method="${method}",http_route="${route}",` +
          `http_response_status_code="${status}"} 1\n`
        assert.include(text, answered("GET", "/v1/query", 200))
        assert.include(text, answered("GET", "unmatched", 404))
        assert.include(text, answered("_OTHER", "unmatched", 400))
        assert.match(text, /^process_memory_usage_bytes [1-9]\d{6,}$/m)
        assert.match(text, /^nodejs_eventloop_delay_max_seconds \d/m)
        assert.notInclude(text, "chosen-by-caller")
      })
    )

    it.effect("/providers tells how each provider and engine stands", () =>
      Effect.gen(function* () {
        const { check, monitor } = yield* ProviderStates
        const refusal = new Refusal({ reason: "quota", message: "it answered 402" })
        yield* monitor({ name: "meta/google cse", search: () => Effect.succeed([]) })
        yield* monitor({ name: "brave", search: () => Effect.fail(refusal) })
        const search = () => Effect.succeed([])
        yield* monitor({ name: "own", search, isLoading: Effect.succeed(true) })
        yield* monitor({ name: "away", search, isLoading: Effect.die("the store is down") })
        yield* check(searchRequest(), 1_000)
        const { providers } = JSON.parse((yield* get("/providers")).text)
        assert.deepInclude(providers[0], {
          provider: "meta",
          engine: "google cse",
          state: "closed",
          retry_at: null,
          answers: 1,
          refusals: 0,
          last_refusal: null,
          loading: false
        })
        assert.isNumber(providers[0].latency_ms.p95)
        assert.deepInclude(providers[1], { provider: "brave", engine: null, state: "open", last_success_at: null })
        assert.deepInclude(providers[1].last_refusal, { reason: "quota", message: "it answered 402" })
        assert.match(providers[1].retry_at, /^\d{4}-/)
        assert.deepInclude(providers[2], { provider: "own", loading: true })
        assert.deepInclude(providers[3], { provider: "away", loading: null })
      })
    )

    it.effect("R2: every answer carries the caller's id where it is a UUID, else a new one", () =>
      Effect.gen(function* () {
        const sent = "0B9E3B6A-1C1F-4F0E-9D57-AAAAAAAAAAAA"
        for (const path of ["/healthz", "/readyz", "/providers", "/metrics", "/nothing"]) {
          assert.strictEqual((yield* get(path, { "x-request-id": sent })).id, sent, path)
          const { id } = yield* get(path, { "x-request-id": "mine" })
          assert.match(id ?? "", /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, path)
          assert.notStrictEqual((yield* get(path)).id, id, path)
        }
      })
    )

    it.effect(
      "R72: a request for a name of the internet is 403 on every route and counted; one without a name is not",
      () =>
        Effect.gen(function* () {
          const { address } = yield* HttpServer.HttpServer
          const ask = Effect.fnUntraced(function* (path: string, rest: string) {
            const client = yield* connect("port" in address ? address.port : 0)
            yield* client.send(`GET ${path} ${rest}\r\n\r\n`)
            const [response] = yield* client.responses(1)
            return response ?? assert.fail("no response")
          })
          const paths = ["/healthz", "/readyz", "/readyz?full", "/providers", "/status", "/metrics", "/nothing"]
          for (const path of paths) {
            const { headers, status, text } = yield* ask(path, "HTTP/1.1\r\nHost: evil.example:9464")
            assert.strictEqual(status, 403, path)
            assert.strictEqual(JSON.parse(text).error, "forbidden_host")
            assert.match(headers["x-request-id"] ?? "", /^[0-9a-f-]{36}$/)
          }
          for (const rest of ["HTTP/1.0", "HTTP/1.1\r\nHost: localhost", "HTTP/1.1\r\nHost: METRICS.example.com:80"]) {
            assert.strictEqual((yield* ask("/healthz", rest)).status, 200, rest)
          }
          const { text } = yield* get("/metrics")
          assert.match(text, new RegExp(`^quarry_admin_forbidden_hosts_total ${paths.length}$`, "m"))
        })
    )

    it.effect("has nothing else", () =>
      Effect.gen(function* () {
        assert.deepInclude(yield* get("/v1/query"), { status: 404, text: `{"error":"not_found"}` })
      })
    )
  })
})
