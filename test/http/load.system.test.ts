import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Metric, Schedule } from "effect"
import { HttpServerResponse } from "effect/http"
import * as Listener from "../support/api/Listener.ts"
import { secret } from "../support/api/StubServices.ts"
import { type Connection, connect, search } from "../support/api/Wire.ts"

const mebibyte = 1024 * 1024

setFlagsFromString("--expose-gc")
const collectGarbage: () => void = runInNewContext("gc")

/** Bytes in use by this process, after several collections: some memory is freed only a while after the first. */
const memory = Effect.gen(function* () {
  for (let times = 0; times < 3; times++) {
    collectGarbage()
    yield* Effect.sleep(100)
  }
  const { arrayBuffers, heapUsed } = process.memoryUsage()
  return arrayBuffers + heapUsed
})

const cuts = Effect.map(Metric.snapshot, (metrics) => {
  const found = metrics.find(({ id }) => id === "quarry.http.connections.cut")
  return found?.type === "Counter" ? Number(found.state.count) : 0
})

const connections = (port: number, count: number) => Effect.forEach(Array.from({ length: count }), () => connect(port))

const post = (path: string, headers: ReadonlyArray<string>): string =>
  [`POST ${path} HTTP/1.1`, "Host: a", ...headers, "", ""].join("\r\n")

const bulk = (...headers: ReadonlyArray<string>): string =>
  post("/v1/bulk", [`Authorization: Bearer ${secret}`, "Content-Type: application/json", ...headers])

const bytewise = (text: string): string => [...text].map((byte) => `1\r\n${byte}\r\n`).join("")

const assertBusy = Effect.fnUntraced(function* (connection: Connection) {
  const [response] = yield* connection.responses(1).pipe(Effect.timeout("5 seconds"))
  assert.strictEqual(response?.status, 429)
  assert.strictEqual(response?.json.error, "rate_limited")
  assert.match(response?.headers["retry-after"] ?? "", /^[1-9]\d*$/)
})

describe("clients that do not read their answers", () => {
  const size = 8 * mebibyte
  const app = Effect.sync(() => HttpServerResponse.uint8Array(new Uint8Array(size)))
  const request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

  it.live("are cut beyond a bound over all connections, and those that read are answered", () =>
    Effect.gen(function* () {
      const before = yield* memory
      const cutBefore = yield* cuts
      const { port } = yield* Listener.start({ app, limits: { maxUnreadBytes: 64 * mebibyte } })
      for (const idle of yield* connections(port, 200)) {
        yield* idle.pause
        yield* idle.send(request)
      }
      const areCut = Effect.map(cuts, (now) => now - cutBefore > 150)
      yield* areCut.pipe(
        Effect.repeat({ until: (it) => it, schedule: Schedule.spaced("20 millis") }),
        Effect.timeout("1 minute")
      )
      for (const honest of yield* connections(port, 3)) {
        yield* honest.send(request)
        const [response] = yield* honest.responses(1).pipe(Effect.timeout("1 minute"))
        assert.strictEqual(response?.text.length, size)
      }
      const waiting = (yield* memory) - before
      assert.isBelow(waiting / mebibyte, 160)
    })
  )
})

describe("a client that reads slowly", () => {
  it.live("is answered whole while those that read nothing are cut", () =>
    Effect.gen(function* () {
      const size = 16 * mebibyte
      const app = Effect.sync(() => HttpServerResponse.uint8Array(new Uint8Array(size)))
      const cutBefore = yield* cuts
      const { port } = yield* Listener.start({ app, limits: { maxUnreadBytes: 100 * mebibyte } })
      const slow = yield* connect(port)
      yield* slow.pause
      yield* slow.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
      for (const idle of yield* connections(port, 30)) {
        yield* idle.pause
        yield* idle.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        // By bytes and not by time, in which a busy machine may bring none. The kernel holds some megabytes of each answer,
        // so that a client which reads little looks like one which reads nothing.
        yield* slow.read(mebibyte / 2)
      }
      yield* slow.resume
      const [response] = yield* slow.responses(1).pipe(Effect.timeout("1 minute"))
      assert.strictEqual(response?.text.length, size)
      assert.isAbove((yield* cuts) - cutBefore, 10)
    })
  )
})

describe("bodies", () => {
  it.live("R3: in a thousand chunks of one byte is read", () =>
    Effect.gen(function* () {
      const { port } = yield* Listener.start()
      const [sender = assert.fail()] = yield* connections(port, 1)
      const text = `{"queries":["css grid"]${" ".repeat(950)}}`
      yield* sender.send(`${bulk("Transfer-Encoding: chunked")}${bytewise(text)}0\r\n\r\n`)
      assert.strictEqual((yield* sender.responses(1))[0]?.status, 200)
    })
  )

  it.live("R3: in ever more chunks of one byte is refused, and its connection is closed", () =>
    Effect.gen(function* () {
      const { port } = yield* Listener.start()
      const pieces = bytewise(" ".repeat(150_000))
      const before = yield* memory
      const senders = yield* connections(port, 6)
      for (const sender of senders) yield* Effect.ignore(sender.send(bulk("Transfer-Encoding: chunked") + pieces))
      for (const sender of senders) {
        const [response] = yield* sender.responses(1)
        assert.deepStrictEqual([response?.status, response?.headers.connection], [400, "close"])
        yield* sender.closed
      }
      assert.isBelow(((yield* memory) - before) / mebibyte, 12)
    })
  )

  it.live("R57: that never come take no place from requests without one", () =>
    Effect.gen(function* () {
      const { port } = yield* Listener.start()
      const senders = yield* connections(port, 1_030)
      for (const sender of senders) yield* sender.send(bulk("Content-Length: 100"))
      const honest = yield* connect(port)
      yield* honest.send(search("css grid"))
      const [response] = yield* honest.responses(1)
      assert.strictEqual(response?.status, 200)
    })
  )

  it.live("R57: beyond as many as may be awaited are refused, those of strangers by a number of their own", () =>
    Effect.gen(function* () {
      const few = { maxBodies: 2, maxBytes: mebibyte }
      const { port } = yield* Listener.start({ limits: { bodies: few, anonymousBodies: few } })
      const signIn = post("/api/auth/sign-in/email", ["Content-Length: 100"])
      const strangers = yield* connections(port, 3)
      for (const stranger of strangers) yield* stranger.send(signIn)
      yield* assertBusy(strangers[2] ?? assert.fail())
      const callers = yield* connections(port, 3)
      for (const caller of callers) yield* caller.send(bulk("Content-Length: 2"))
      yield* assertBusy(callers[2] ?? assert.fail())
      yield* callers[0]?.send(`{}`) ?? Effect.void
      const [response] = yield* callers[0]?.responses(1) ?? Effect.succeed([])
      assert.strictEqual(response?.status, 400)
    })
  )

  it.live("R57: beyond as many bytes as may be kept are refused, and their bytes are given back", () =>
    Effect.gen(function* () {
      const { port } = yield* Listener.start({ limits: { bodies: { maxBodies: 10, maxBytes: 64 * 1024 } } })
      const [first, second] = yield* connections(port, 2)
      if (first === undefined || second === undefined) return assert.fail()
      yield* first.send(bulk("Content-Length: 40000") + " ".repeat(39_000))
      yield* Effect.sleep(100)
      yield* second.send(bulk("Content-Length: 40000") + " ".repeat(40_000))
      yield* assertBusy(second)
      yield* first.send(" ".repeat(1_000))
      assert.strictEqual((yield* first.responses(1))[0]?.status, 400)
      const third = yield* connect(port)
      yield* third.send(`${bulk("Content-Length: 40000")}{"queries":["a"]}${" ".repeat(39_983)}`)
      assert.strictEqual((yield* third.responses(1))[0]?.status, 200)
    })
  )

  it.live("R57: a request whose body has come, and for which there is no place then, is refused uncharged", () =>
    Effect.gen(function* () {
      const { port } = yield* Listener.start({ limits: { maxRequestsInFlight: 1 }, during: () => Effect.never })
      const sender = yield* connect(port)
      yield* sender.send(bulk("Content-Length: 17"))
      yield* Effect.sleep(50)
      const busy = yield* connect(port)
      yield* busy.send(search("css grid"))
      yield* Effect.sleep(50)
      yield* sender.send(`{"queries":["a"]}`)
      yield* assertBusy(sender)
    })
  )
})
