import { once } from "node:events"
import { Worker } from "node:worker_threads"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Fiber } from "effect"
import { HttpServerResponse } from "effect/http"
import * as Listener from "../../support/api/Listener.ts"
import { secret } from "../../support/api/StubServices.ts"
import { connect, search, type WireResponse } from "../../support/api/Wire.ts"

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

const sentId = "3F2504E0-4F89-11D3-9A0C-0305E82C3301"

/** The grace where nothing may wait for it, and the most that a busy machine takes for what needs no waiting. */
const grace = Duration.minutes(2)
const soon = "30 seconds"

/** Every refusal has the envelope, and the same id in it as in its header (R2, R3). */
const isRefusal = (response: WireResponse | undefined, status: number, code: string): void => {
  assert.strictEqual(response?.status, status)
  assert.strictEqual(response?.json.error, code)
  assert.isString(response?.json.message)
  assert.match(response?.headers["x-request-id"] ?? "", /^[0-9a-f-]{36}$/i)
  assert.strictEqual(response?.json.request_id, response?.headers["x-request-id"])
  assert.strictEqual(response?.headers["content-type"], "application/json")
  assert.strictEqual(response?.headers["x-content-type-options"], "nosniff")
  assert.strictEqual(response?.headers["cache-control"], "no-store")
  if (code === "invalid_request") assert.strictEqual(response?.json.issues[0].field, "")
}

/** Sends `bytes` on a connection of its own and answers what came before the listener closed it. */
const exchange = Effect.fnUntraced(function* (port: number, ...pieces: ReadonlyArray<string | Uint8Array>) {
  const connection = yield* connect(port)
  for (const piece of pieces) yield* connection.send(piece)
  return yield* connection.closed
})

describe("what Node's parser refuses is answered 400 with the envelope, and the connection closed", () => {
  const cases: ReadonlyArray<readonly [string, string | Uint8Array]> = [
    ["bytes that are not HTTP", "\0\x01\x02 hello\r\n\r\n"],
    ["a TLS hello", Buffer.from("16030100f1010000ed0303", "hex")],
    ["an HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    ["an unknown method", "FETCH / HTTP/1.1\r\nHost: a\r\n\r\n"],
    ["an unknown version", "GET / HTTP/3.7\r\nHost: a\r\n\r\n"],
    ["a header without a name", "GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n"],
    ["a folded header", "GET / HTTP/1.1\r\nHost: a\r\nX-A: b\r\n c\r\nbroken\r\n\r\n"],
    ["a target with a space", "GET /v1/ me HTTP/1.1\r\nHost: a\r\n\r\n"],
    ["a Content-Length that is not a number", "POST /v1/bulk HTTP/1.1\r\nHost: a\r\nContent-Length: ten\r\n\r\n"],
    ["two Content-Lengths", "POST /v1/bulk HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"],
    [
      "Content-Length beside Transfer-Encoding",
      "POST /v1/bulk HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n"
    ],
    [
      "Transfer-Encoding beside Content-Length",
      "POST /v1/bulk HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n"
    ],
    [
      "a Transfer-Encoding that does not end in chunked",
      "POST /v1/bulk HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, gzip\r\n\r\n"
    ],
    ["headers far above the limit", `GET / HTTP/1.1\r\nHost: a\r\nX-A: ${"a".repeat(8 * 1024 * 1024)}\r\n\r\n`],
    ["R2: headers above 16 KiB", `GET / HTTP/1.1\r\nHost: a\r\nX-A: ${"a".repeat(16 * 1024)}\r\n\r\n`]
  ]

  for (const [name, bytes] of cases) {
    it.live(name, () =>
      Effect.gen(function* () {
        const { port } = yield* Listener.start()
        const responses = yield* exchange(port, bytes)
        assert.strictEqual(responses.length, 1)
        isRefusal(responses[0], 400, "invalid_request")
        assert.strictEqual(responses[0]?.headers.connection, "close")
      })
    )
  }

  it.live("a broken chunk of a body that is being read, with the id that the request brought", () =>
    Effect.gen(function* () {
      const { port } = yield* Listener.start()
      const responses = yield* exchange(
        port,
        `POST /v1/bulk HTTP/1.1\r\nHost: a\r\nX-Request-Id: ${sentId}\r\nAuthorization: Bearer ${secret}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
        "zz\r\n"
      )
      assert.strictEqual(responses.length, 1)
      isRefusal(responses[0], 400, "invalid_request")
      assert.strictEqual(responses[0]?.headers["x-request-id"], sentId)
    })
  )

  it.live("junk behind a request is refused behind the request's answer", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const { port } = yield* Listener.start({ during: () => Deferred.await(gate) })
      const connection = yield* connect(port)
      yield* connection.send(`${search("css grid")}this is not HTTP\r\n\r\n`)
      yield* Effect.sleep(50)
      yield* Deferred.succeed(gate, undefined)
      const responses = yield* connection.closed
      assert.deepStrictEqual(
        responses.map(({ status }) => status),
        [200, 400]
      )
      isRefusal(responses[1], 400, "invalid_request")
    })
  )
})

describe("hosts and targets", () => {
  const cases: ReadonlyArray<readonly [string, string, number]> = [
    ["two Host headers are refused", "GET /v1/me HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n", 400],
    ["no Host header is refused", "GET /v1/me HTTP/1.1\r\nConnection: close\r\n\r\n", 400],
    [
      "HTTP/1.0 with Transfer-Encoding is answered, and its connection closed",
      "GET /v1/me HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      401
    ],
    ["HTTP/1.0 needs no Host header", "GET /v1/me HTTP/1.0\r\n\r\n", 401],
    [
      "an absolute target is the path in it",
      "GET http://b/v1/me HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
      401
    ],
    ["an absolute target that is none", "GET http://[ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 404],
    ["an asterisk is not found", "OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 404],
    ["a broken escape is not found", "GET /v1/%zz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 404],
    ["R3: a matrix parameter is not found", "GET /v1/me;a=b HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 404],
    ["R3: a fragment is not found", "GET /v1/me#a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 404],
    ["R3: an escaped letter is not found", "GET /v1/%6de HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 404],
    [
      "R3: a fragment of an absolute target is not found",
      "GET http://a/v1/me#a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
      404
    ],
    [
      "R3: dots of an absolute target are not resolved",
      "GET http://a/v1/../v1/me HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
      404
    ],
    ["a second slash is not found", "GET //v1/me HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 404],
    ["TRACE is not found", "TRACE /v1/me HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 404],
    ["CONNECT is not found", "CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n", 404]
  ]
  const codes: Readonly<Record<number, string>> = { 400: "invalid_request", 401: "unauthorized", 404: "not_found" }

  for (const [name, bytes, status] of cases) {
    it.live(name, () =>
      Effect.gen(function* () {
        const { port } = yield* Listener.start()
        const responses = yield* exchange(port, bytes)
        assert.strictEqual(responses.length, 1)
        isRefusal(responses[0], status, codes[status] ?? "")
      })
    )
  }

  it.live("R22: two Authorization headers are not a credential, even with the same valid key", () =>
    Effect.gen(function* () {
      const { port } = yield* Listener.start()
      const again = [`Authorization: Bearer ${secret}`, "Connection: close"]
      const responses = yield* exchange(port, search("css grid", again))
      assert.strictEqual(responses.length, 1)
      isRefusal(responses[0], 401, "unauthorized")
    })
  )

  it.live("R3: a body that is not UTF-8 is refused whole instead of searched with other characters", () =>
    Effect.gen(function* () {
      const { port } = yield* Listener.start()
      const body = Buffer.from('{"target":"alpha_search","queries":["caf\xe9"]}', "latin1")
      const head = `POST /v1/bulk HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${secret}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n`
      const responses = yield* exchange(port, Buffer.concat([Buffer.from(head), body]))
      assert.strictEqual(responses.length, 1)
      isRefusal(responses[0], 400, "invalid_request")
    })
  )

  it.live("R2: a refusal of the listener echoes the id, too", () =>
    Effect.gen(function* () {
      const { port } = yield* Listener.start()
      for (const start of ["GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n", "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n"]) {
        const [response] = yield* exchange(port, `${start}X-Request-Id: ${sentId}\r\nConnection: close\r\n\r\n`)
        assert.strictEqual(response?.headers["x-request-id"], sentId)
      }
    })
  )

  it.live("R2: 4 kB of X-Request-Id, and 15 KiB of headers, are taken, and the id is replaced", () =>
    Effect.gen(function* () {
      const { port } = yield* Listener.start()
      const [response] = yield* exchange(
        port,
        search("css grid", [`X-Request-Id: ${"a".repeat(4096)}`, `X-A: ${"a".repeat(11 * 1024)}`, "Connection: close"])
      )
      assert.strictEqual(response?.status, 200)
      assert.match(response?.headers["x-request-id"] ?? "", uuid)
    })
  )
})

describe("R3: HEAD of a public document", () => {
  for (const path of ["/openapi.json", "/docs"]) {
    it.live(path, () =>
      Effect.gen(function* () {
        const { port } = yield* Listener.start()
        const ask = Effect.fnUntraced(function* (method: string) {
          const connection = yield* connect(port)
          yield* connection.send(`${method} ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)
          yield* connection.closed
          const [head = "", body = ""] = connection.raw().split("\r\n\r\n", 2)
          return { status: head.slice(9, 12), length: /^content-length: (\d+)/im.exec(head)?.[1], body }
        })
        const get = yield* ask("GET")
        assert.strictEqual(get.status, "200")
        assert.deepStrictEqual(yield* ask("HEAD"), { ...get, body: "" })
        assert.isAbove(Number(get.length), 0)
      })
    )
  }
})

describe("protocols that are offered and not taken", () => {
  for (const protocol of ["websocket", "h2c", "TLS/1.2"]) {
    it.live(`Upgrade: ${protocol} is answered as the plain request it is`, () =>
      Effect.gen(function* () {
        const { port } = yield* Listener.start()
        const connection = yield* connect(port)
        const upgrade = ["Connection: Upgrade", `Upgrade: ${protocol}`, "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="]
        yield* connection.send(search("css grid", upgrade))
        const [response] = yield* connection.responses(1)
        assert.strictEqual(response?.status, 200)
      })
    )
  }

  it.live("an upgrade with a body is read as any other", () =>
    Effect.gen(function* () {
      const { port } = yield* Listener.start()
      const connection = yield* connect(port)
      yield* connection.send(
        `POST /v1/bulk HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${secret}\r\nContent-Type: application/json\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nTransfer-Encoding: chunked\r\n\r\n16\r\n{"queries":["a","bb"]}\r\n0\r\n\r\n`
      )
      const [response] = yield* connection.responses(1)
      assert.strictEqual(response?.status, 200)
    })
  )

  it.live("Expect: 100-continue gets 100 Continue, then the response", () =>
    Effect.gen(function* () {
      const { port } = yield* Listener.start()
      const connection = yield* connect(port)
      yield* connection.send(
        `POST /v1/bulk HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${secret}\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 22\r\n\r\n`
      )
      yield* connection.send(`{"queries":["a","bb"]}`)
      const [response] = yield* connection.responses(1)
      assert.match(connection.raw(), /^HTTP\/1.1 100 Continue/)
      assert.strictEqual(response?.status, 200)
    })
  )

  it.live("R3: another expectation is ignored, as there is no 417", () =>
    Effect.gen(function* () {
      const { port } = yield* Listener.start()
      const [response] = yield* exchange(port, search("css grid", ["Expect: a-miracle", "Connection: close"]))
      assert.strictEqual(response?.status, 200)
    })
  )

  it.live("R3: an unparsable HEAD request is answered without a body", () =>
    Effect.gen(function* () {
      const { port } = yield* Listener.start()
      const connection = yield* connect(port)
      yield* connection.send(Buffer.from("HEAD /v1/me\u00e9 HTTP/1.1\r\nHost: a\r\n\r\n", "latin1"))
      yield* Effect.exit(connection.closed)
      assert.match(connection.raw(), /^HTTP\/1\.1 400 [\s\S]*\r\ncontent-length: [1-9][\s\S]*\r\n\r\n$/)
    })
  )

  it.live("pipelined requests are answered in their order", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const { port } = yield* Listener.start({
        during: ({ query }) => (query === "first" ? Deferred.await(gate) : Deferred.succeed(gate, undefined))
      })
      const connection = yield* connect(port)
      yield* connection.send(search("first") + search("second"))
      const responses = yield* connection.responses(2)
      assert.deepStrictEqual(
        responses.map(({ json }) => json.query),
        ["first", "second"]
      )
    })
  )
})

describe("slow and large senders", () => {
  const limits = { headersTimeoutMs: 200, requestTimeoutMs: 200 }

  it.live("headers that do not arrive in time", () =>
    Effect.gen(function* () {
      const { port } = yield* Listener.start({ limits })
      const responses = yield* exchange(port, "GET /v1/me HTTP/1.1\r\nHost: a\r\nX-Slow:")
      assert.strictEqual(responses.length, 1)
      isRefusal(responses[0], 400, "invalid_request")
    })
  )

  it.live("a connection without a byte is answered and closed", () =>
    Effect.gen(function* () {
      const { port } = yield* Listener.start({ limits })
      const responses = yield* exchange(port)
      assert.strictEqual(responses.length, 1)
      isRefusal(responses[0], 400, "invalid_request")
    })
  )

  it.live("a body that does not arrive in time", () =>
    Effect.gen(function* () {
      const { port } = yield* Listener.start({ limits })
      const responses = yield* exchange(
        port,
        `POST /v1/bulk HTTP/1.1\r\nHost: a\r\nX-Request-Id: ${sentId}\r\nAuthorization: Bearer ${secret}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{`
      )
      assert.strictEqual(responses.length, 1)
      isRefusal(responses[0], 400, "invalid_request")
      assert.strictEqual(responses[0]?.headers["x-request-id"], sentId)
    })
  )

  it.live("a connection on which nothing moves any more is closed", () =>
    Effect.gen(function* () {
      const { port } = yield* Listener.start({ limits: { inactivityTimeoutMs: 200 }, during: () => Effect.never })
      assert.deepStrictEqual(yield* exchange(port, search("css grid")), [])
    })
  )

  it.live("a search that takes longer than a request may is not cut off", () =>
    Effect.gen(function* () {
      const { port } = yield* Listener.start({ limits, during: () => Effect.sleep(900) })
      const [response] = yield* exchange(port, search("css grid", ["Connection: close"]))
      assert.strictEqual(response?.status, 200)
    })
  )

  const bulk = (contentLength: number, authorization = `Bearer ${secret}`) =>
    `POST /v1/bulk HTTP/1.1\r\nHost: a\r\nAuthorization: ${authorization}\r\nContent-Type: application/json\r\nContent-Length: ${contentLength}\r\n\r\n`

  it.live("R3: a body above 1 MiB is 400, read by a client that sends on, and the connection is closed", () =>
    Effect.gen(function* () {
      const { port } = yield* Listener.start()
      const size = 8 * 1024 * 1024
      const responses = yield* exchange(port, bulk(size), Buffer.alloc(size, "a"))
      assert.strictEqual(responses.length, 1)
      isRefusal(responses[0], 400, "invalid_request")
    })
  )

  it.live("R3: a delivery of payments above 256 KiB is 400 before its end, also where no header tells its length", () =>
    Effect.gen(function* () {
      const { port } = yield* Listener.start()
      const client = yield* connect(port)
      yield* client.send("POST /webhooks/billing HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
      yield* client.send(Buffer.concat([Buffer.from("48000\r\n"), Buffer.alloc(0x48000, "a"), Buffer.from("\r\n")]))
      const [response] = yield* client.responses(1)
      isRefusal(response, 400, "invalid_request")
      assert.include(response?.text, "larger than 256 KiB")
    })
  )

  it.live("R1: an early 401 reaches a client that is still sending, without reading the rest", () =>
    Effect.gen(function* () {
      const { port } = yield* Listener.start()
      const responses = yield* exchange(port, bulk(1024 ** 3, "Bearer wrong"), Buffer.alloc(1024 * 1024, "a"))
      assert.strictEqual(responses.length, 1)
      isRefusal(responses[0], 401, "unauthorized")
    })
  )
})

describe("a body that stalls behind its answer", () => {
  it.live("is cut off without a second answer", () =>
    Effect.gen(function* () {
      const { port } = yield* Listener.start({ grace, limits: { headersTimeoutMs: 200, requestTimeoutMs: 200 } })
      const responses = yield* exchange(
        port,
        "POST /v1/bulk HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer wrong\r\nContent-Length: 100\r\n\r\n{"
      )
      assert.deepStrictEqual(
        responses.map(({ status }) => status),
        [401]
      )
    })
  )
})

describe("a body that breaks off", () => {
  const chunked = "Transfer-Encoding: chunked"
  const bulk = `POST /v1/bulk HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${secret}\r\n${chunked}\r\n\r\n`

  it.live("R1: fails its request alone, behind an answer that is due before it", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const { port } = yield* Listener.start({ during: () => Deferred.await(gate) })
      const connection = yield* connect(port)
      yield* connection.send(`${search("css grid")}${bulk}zz\r\n`)
      yield* Effect.sleep(50)
      yield* Deferred.succeed(gate, undefined)
      const responses = yield* connection.closed
      assert.deepStrictEqual(
        responses.map(({ status }) => status),
        [200, 400]
      )
      isRefusal(responses[1], 400, "invalid_request")
      assert.strictEqual(responses[1]?.headers["x-ratelimit-limit"], "1000")
    })
  )

  it.live("I4: does not take the answer from a search, which may be charged and has no use for a body", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const { port } = yield* Listener.start({ during: () => Deferred.await(gate) })
      const connection = yield* connect(port)
      yield* connection.send(search("css grid", [chunked]))
      yield* Effect.sleep(20)
      yield* connection.send("zz\r\n")
      yield* Effect.sleep(50)
      yield* Deferred.succeed(gate, undefined)
      const [response, ...others] = yield* connection.closed
      assert.strictEqual(response?.status, 200)
      assert.deepStrictEqual(others, [])
    })
  )
})

describe("a client that has sent its request and closes its direction", () => {
  it.live("I4: gets the answer that it is charged for", () =>
    Effect.gen(function* () {
      const { port } = yield* Listener.start({ during: () => Effect.sleep(500) })
      const connection = yield* connect(port)
      yield* connection.send(search("css grid"))
      yield* connection.finish
      const [response] = yield* connection.closed
      assert.strictEqual(response?.status, 200)
    })
  )

  it.live("gets the refusal of a body that it did not send whole", () =>
    Effect.gen(function* () {
      const { port } = yield* Listener.start()
      const connection = yield* connect(port)
      yield* connection.send(
        `POST /v1/bulk HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${secret}\r\nContent-Length: 100\r\n\r\n{`
      )
      yield* connection.finish
      const responses = yield* connection.closed
      assert.strictEqual(responses.length, 1)
      isRefusal(responses[0], 400, "invalid_request")
    })
  )

  it.live("R21: is distinguished from a disconnected client, whose request ends", () =>
    Effect.gen(function* () {
      let running = 0
      const { port } = yield* Listener.start({
        during: () =>
          Effect.acquireUseRelease(
            Effect.sync(() => running++),
            () => Effect.never,
            () => Effect.sync(() => running--)
          )
      })
      const connection = yield* connect(port)
      yield* connection.send(search("css grid"))
      while (running < 1) yield* Effect.sleep(5)
      yield* connection.leave
      const ended = Effect.gen(function* () {
        while (running > 0) yield* Effect.sleep(5)
      })
      yield* ended.pipe(Effect.timeout(soon))
    })
  )
})

describe("more than the listener takes", () => {
  it.live("R57: a request above the cap is answered rate_limited at once, and the others are served", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      let searches = 0
      const { port } = yield* Listener.start({
        limits: { maxRequestsInFlight: 2 },
        during: () =>
          Effect.andThen(
            Effect.sync(() => searches++),
            Deferred.await(gate)
          )
      })
      const served = [yield* connect(port), yield* connect(port)]
      for (const connection of served) yield* connection.send(search("css grid"))
      while (searches < 2) yield* Effect.sleep(5)
      const shed = yield* connect(port)
      yield* shed.send(search("css grid", [`X-Request-Id: ${sentId}`]))
      const [refused] = yield* shed.responses(1).pipe(Effect.timeout(soon))
      isRefusal(refused, 429, "rate_limited")
      assert.match(refused?.headers["retry-after"] ?? "", /^[1-9]\d*$/)
      assert.notProperty(refused?.headers, "x-ratelimit-limit")
      assert.strictEqual(refused?.headers["x-request-id"], sentId)
      assert.strictEqual(refused?.headers["x-credits-used"], undefined)
      assert.strictEqual(searches, 2)
      yield* Deferred.succeed(gate, undefined)
      for (const connection of served) assert.strictEqual((yield* connection.responses(1))[0]?.status, 200)
      yield* shed.send(search("css grid"))
      assert.strictEqual((yield* shed.responses(2))[1]?.status, 200)
    })
  )

  it.live("R57: a connection has a limited number of unanswered requests, and all are answered in their order", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const secondRuns = yield* Deferred.make<void>()
      const { port } = yield* Listener.start({
        limits: { maxPipelinedRequests: 2 },
        during: ({ query }) =>
          Effect.andThen(
            query === "second" ? Deferred.succeed(secondRuns, undefined) : Effect.void,
            Deferred.await(gate)
          )
      })
      const connection = yield* connect(port)
      yield* connection.send(search("first") + search("second") + search("third", [`X-Request-Id: ${sentId}`]))
      yield* Deferred.await(secondRuns)
      yield* Deferred.succeed(gate, undefined)
      const [first, second, third] = yield* connection.responses(3)
      assert.deepStrictEqual([first?.json.query, second?.json.query], ["first", "second"])
      isRefusal(third, 429, "rate_limited")
      assert.strictEqual(third?.headers["x-request-id"], sentId)
      yield* connection.send(search("fourth"))
      assert.strictEqual((yield* connection.responses(4))[3]?.status, 200)
    })
  )

  it.live("a connection above the cap is closed", () =>
    Effect.gen(function* () {
      const { port } = yield* Listener.start({ limits: { maxConnections: 1 } })
      const first = yield* connect(port)
      assert.deepStrictEqual(yield* exchange(port, search("css grid")), [])
      yield* first.send(search("css grid"))
      assert.strictEqual((yield* first.responses(1))[0]?.status, 200)
    })
  )
})

describe("clients that go away", () => {
  const request = search("css grid")

  it.live("at any byte leave neither a connection nor a running request", () =>
    Effect.gen(function* () {
      let running = 0
      const { port, stop } = yield* Listener.start({
        grace,
        during: () =>
          Effect.acquireUseRelease(
            Effect.sync(() => running++),
            () => Effect.never,
            () => Effect.sync(() => running--)
          )
      })
      for (let sent = 0; sent <= request.length; sent += 7) {
        const connection = yield* connect(port)
        yield* connection.send(request.slice(0, sent))
        yield* Effect.sleep(1)
        yield* connection.abort
      }
      const pipelining = yield* connect(port)
      yield* pipelining.send(request + request + request)
      while (running < 3) yield* Effect.sleep(5)
      yield* pipelining.abort
      while (running > 0) yield* Effect.sleep(5)
      // Nothing is left to wait for.
      yield* stop.pipe(Effect.timeout(soon))
    })
  )
})

describe("stopping", () => {
  it.live("readiness fails first, accepted requests are answered, and idle connections are closed at once", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const searching = yield* Deferred.make<void>()
      const { port, readiness, stop } = yield* Listener.start({
        grace,
        during: () => Effect.andThen(Deferred.succeed(searching, undefined), Deferred.await(gate))
      })
      assert.isTrue((yield* readiness.report).ready)
      const unused = yield* connect(port)
      const kept = yield* connect(port)
      yield* kept.send("GET /v1/me HTTP/1.1\r\nHost: a\r\n\r\n")
      assert.strictEqual((yield* kept.responses(1))[0]?.status, 401)
      const partial = yield* connect(port)
      yield* partial.send("GET /v1/me HTTP/1.1\r\nHost:")
      const busy = yield* connect(port)
      yield* busy.send(search("css grid"))
      yield* Deferred.await(searching)

      const stopping = yield* Effect.forkChild(stop)
      yield* Effect.all([unused.closed, kept.closed, partial.closed]).pipe(Effect.timeout(soon))
      assert.deepInclude(yield* readiness.report, { ready: false, listener: "draining" })
      assert.isTrue(yield* Effect.isFailure(Effect.timeout(connectRefused(port), soon)))
      assert.isUndefined(stopping.pollUnsafe())

      yield* Deferred.succeed(gate, undefined)
      const [response] = yield* busy.closed
      assert.strictEqual(response?.status, 200)
      assert.strictEqual(response?.headers.connection, "close")
      yield* Fiber.join(stopping).pipe(Effect.timeout(soon))
    })
  )

  it.live("an answer that is under way is sent to its end, and its connection closed", () =>
    Effect.gen(function* () {
      const size = 64 * 1024 * 1024
      const { port, stop } = yield* Listener.start({
        grace,
        app: Effect.sync(() => HttpServerResponse.uint8Array(new Uint8Array(size)))
      })
      const slow = yield* connect(port)
      yield* slow.pause
      yield* slow.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
      yield* Effect.sleep(300)
      const stopping = yield* Effect.forkChild(stop)
      yield* Effect.sleep(50)
      yield* slow.resume
      const [response] = yield* slow.closed.pipe(Effect.timeout(soon))
      assert.deepInclude(response, { status: 200 })
      assert.strictEqual(response?.text.length, size)
      yield* Fiber.join(stopping).pipe(Effect.timeout(soon))
    })
  )

  it.live("what still runs when the grace ends is cut off", () =>
    Effect.gen(function* () {
      let interrupted = false
      const searching = yield* Deferred.make<void>()
      const { port, stop } = yield* Listener.start({
        grace: Duration.millis(500),
        during: () =>
          Effect.andThen(
            Deferred.succeed(searching, undefined),
            Effect.onInterrupt(Effect.never, () =>
              Effect.sync(() => {
                interrupted = true
              })
            )
          )
      })
      const busy = yield* connect(port)
      yield* busy.send(search("css grid"))
      yield* Deferred.await(searching)
      yield* stop.pipe(Effect.timeout(soon))
      assert.deepStrictEqual(yield* busy.closed, [])
      assert.isTrue(interrupted)
    })
  )

  it.live("a sender that is slower than a request may be does not hold the drain", () =>
    Effect.gen(function* () {
      const { port, stop } = yield* Listener.start({ limits: { headersTimeoutMs: 200, requestTimeoutMs: 200 } })
      const slow = yield* connect(port)
      yield* slow.send(
        `POST /v1/bulk HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${secret}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{`
      )
      yield* Effect.sleep(50)
      yield* stop.pipe(Effect.timeout(soon))
    })
  )
})

/** Connects from another thread, and notes each connection that the kernel has accepted. */
const connector = `
const { connect } = require("node:net")
const { workerData: { count, connected, port } } = require("node:worker_threads")
for (let i = 0; i < count; i++) connect(port, "127.0.0.1").on("error", () => {}).on("connect", () => {
  if (Atomics.add(connected, 0, 1) + 1 === count) Atomics.notify(connected, 0)
})`

it.live.skipIf(process.platform !== "linux")(
  "clients that connect at once while the process is busy are all accepted",
  () =>
    Effect.gen(function* () {
      const { port } = yield* Listener.start()
      // Within the kernel's own limit (`net.core.somaxconn`, 4,096 on Linux 5.4 and later), and above Node's default.
      const count = 1000
      const connected = new Int32Array(new SharedArrayBuffer(4))
      const worker = new Worker(connector, { eval: true, workerData: { count, connected, port } })
      yield* Effect.addFinalizer(() => Effect.promise(() => worker.terminate()))
      yield* Effect.promise(() => once(worker, "online"))
      // Blocks the thread of the listener, so that it accepts none of them meanwhile.
      for (let now = 0; now < count; now = Atomics.load(connected, 0)) {
        if (Atomics.wait(connected, 0, now, 15_000) === "timed-out" && Atomics.load(connected, 0) === now) break
      }
      assert.strictEqual(Atomics.load(connected, 0), count)
    })
)

const connectRefused = (port: number) =>
  Effect.tryPromise(() => fetch(`http://127.0.0.1:${port}/v1/me`, { headers: { connection: "close" } }))
