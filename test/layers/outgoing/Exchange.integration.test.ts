import { createServer } from "node:net"
import { gzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Result } from "effect"
import * as Exchange from "../../../src/layers/outgoing/Exchange.ts"
import { decodedAfter } from "../../support/decodedAfter.ts"

const limits: Exchange.ExchangeLimits = {
  timeout: Duration.seconds(10),
  maxBodyBytes: 1_000,
  maxReceivedBytes: 200 * 1024
}

/** The port of a server that responds to anything with this, and closes the connection. */
const serve = (answer: string | Buffer) =>
  Effect.acquireRelease(
    Effect.callback<{ readonly port: number; readonly close: () => void }>((resume) => {
      const server = createServer((socket) => {
        socket.on("error", () => undefined)
        socket.once("data", () => socket.end(answer))
      })
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        const port = typeof address === "object" && address !== null ? address.port : assert.fail("no port")
        resume(Effect.succeed({ port, close: () => server.close() }))
      })
    }),
    ({ close }) => Effect.sync(close)
  )

/** The status and the body of the answer, or the reason why there is none. */
const answered = Effect.fnUntraced(function* (text: string, change: Partial<Exchange.ExchangeLimits> = {}) {
  const { port } = yield* serve(text)
  const request = { method: "GET", url: new URL(`http://127.0.0.1:${port}/`), headers: {} } as const
  const result = yield* Effect.result(Exchange.exchange(request, { allowsPrivate: true }, { ...limits, ...change }))
  if (Result.isFailure(result)) return result.failure.reason
  const { body, status } = result.success
  return [status, body.toString()]
})

const head = "HTTP/1.1 200 OK\r\n"
const early = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"

describe("an exchange", () => {
  it.live("returns a body up to its limit, however it is framed", () =>
    Effect.gen(function* () {
      const text = "x".repeat(1_000)
      const chunks = "1\r\nx\r\n".repeat(1_000)
      const framed = [
        `${head}Content-Length: 1000\r\n\r\n${text}`,
        `${head}Transfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`,
        `${head}\r\n${text}`,
        `HTTP/1.0 200 OK\r\n\r\n${text}`,
        `${early.repeat(8)}${head}Content-Length: 1000\r\n\r\n${text}`
      ]
      for (const answer of framed) assert.deepStrictEqual(yield* answered(answer), [200, text], answer.slice(0, 60))
      assert.deepStrictEqual(yield* answered("HTTP/1.1 204 No Content\r\n\r\n"), [204, ""])
    })
  )

  it.live("ends at the limit of its body, with the limit as its reason", () =>
    Effect.gen(function* () {
      const text = "x".repeat(1_001)
      for (const answer of [`${head}Content-Length: 1001\r\n\r\n${text}`, `${head}\r\n${text}`]) {
        assert.strictEqual(yield* answered(answer), "more than 1000 bytes of body")
      }
    })
  )

  it.live("takes no body for whole that was cut off, by the server or by a limit", () =>
    Effect.gen(function* () {
      assert.isString(yield* answered(`${head}Content-Length: 100\r\n\r\nx`))
      assert.isString(yield* answered(`${head}Transfer-Encoding: chunked\r\n\r\nff\r\nx`))
      const long = { maxBodyBytes: 10_000_000 }
      assert.strictEqual(yield* answered(`${head}\r\n${"x".repeat(1_000_000)}`, long), "ERR_TOO_MUCH_RECEIVED")
    })
  )

  it.live("reads as many informational responses as it may, and no head above its limit", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* answered(`${early.repeat(9)}${head}\r\n`), "more than 8 informational responses")
      const large = `X-A: ${"a".repeat(17 * 1024)}\r\n\r\n`
      assert.strictEqual(yield* answered(`${head}${large}`), "HPE_HEADER_OVERFLOW")
      assert.strictEqual(yield* answered(`HTTP/1.1 103 Early Hints\r\n${large}${head}\r\n`), "HPE_HEADER_OVERFLOW")
    })
  )

  it.live("R83: after its time has passed, the rest of a body is neither received nor decompressed", () =>
    Effect.gen(function* () {
      // Parts of a gzip file can be joined: 4 GiB in 4 MB.
      const bomb = Buffer.concat(Array<Buffer>(400).fill(gzipSync(Buffer.alloc(10 * 1024 * 1024))))
      const { port } = yield* serve(Buffer.concat([Buffer.from(`${head}Content-Encoding: gzip\r\n\r\n`), bomb]))
      const request = {
        method: "GET",
        url: new URL(`http://127.0.0.1:${port}/`),
        headers: { "accept-encoding": "gzip" }
      } as const
      const unlimited = { maxBodyBytes: Number.POSITIVE_INFINITY, maxReceivedBytes: Number.POSITIVE_INFINITY }
      const timeout = Duration.millis(200)
      const asked = Exchange.exchange(request, { allowsPrivate: true }, { ...limits, ...unlimited, timeout })
      const pieces = yield* Effect.promise(() =>
        decodedAfter(async () => assert.isTrue(Result.isFailure(await Effect.runPromise(Effect.result(asked)))))
      )
      assert.isAtMost(pieces, 1)
    })
  )

  it.live("reads no body where none is wanted", () =>
    Effect.gen(function* () {
      const answer = `${head}Content-Length: 1000000000\r\n\r\n${"x".repeat(10_000)}`
      assert.deepStrictEqual(yield* answered(answer, { maxBodyBytes: 0 }), [200, ""])
    })
  )
})
