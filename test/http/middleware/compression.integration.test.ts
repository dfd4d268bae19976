import { type IncomingMessage, request as send } from "node:http"
import { buffer } from "node:stream/consumers"
import { brotliDecompressSync, gunzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { CompressesResponses } from "../../../src/http/middleware/Compression.ts"
import * as Listener from "../../support/api/Listener.ts"
import { secret } from "../../support/api/StubServices.ts"

interface Answer {
  readonly status: number | undefined
  readonly headers: IncomingMessage["headers"]
  readonly bytes: Buffer
}

const auth = { authorization: `Bearer ${secret}` }

/** A response with its body as it is on the wire: `fetch` would decode it. */
const ask = (port: number, path: string, headers: Record<string, string> = {}, method = "GET") =>
  Effect.callback<Answer>((resume) => {
    const request = send({ host: "127.0.0.1", port, path, method, headers: { ...auth, ...headers } }, (response) => {
      buffer(response).then((bytes) =>
        resume(Effect.succeed({ status: response.statusCode, headers: response.headers, bytes }))
      )
    })
    request.on("error", (error) => resume(Effect.die(error))).end()
  })

const start = (isOn: boolean) => Listener.start().pipe(Effect.provideService(CompressesResponses, isOn))

/** A response of more than 1 KiB: the error lists the 193 countries. */
const large = "/v1/query?query=a&geo=zz"
const small = "/v1/me"

describe("R52: compression", () => {
  it.live("codes responses of 1 KiB and more as the caller prefers, with their length and without other changes", () =>
    Effect.gen(function* () {
      const { port } = yield* start(true)
      const plain = yield* ask(port, large)
      assert.isAbove(plain.bytes.length, 1024)
      for (const [accept, coding, decode] of [
        ["gzip, deflate, br, zstd", "br", brotliDecompressSync],
        ["gzip", "gzip", gunzipSync],
        ["br;q=0, gzip;q=0.1", "gzip", gunzipSync],
        ["*", "br", brotliDecompressSync]
      ] as const) {
        const { bytes, headers, status } = yield* ask(port, large, { "accept-encoding": accept })
        assert.strictEqual(status, 400)
        assert.strictEqual(headers["content-encoding"], coding, accept)
        assert.strictEqual(headers["content-length"], String(bytes.length))
        assert.strictEqual(headers.vary, "Accept-Encoding")
        assert.strictEqual(headers["x-ratelimit-limit"], "1000")
        assert.isBelow(bytes.length, plain.bytes.length)
        assert.deepInclude(JSON.parse(String(decode(bytes))), { error: "unsupported_geo" })
      }
    })
  )

  it.live("leaves small responses, and those of callers that accept no coding of ours, as they are", () =>
    Effect.gen(function* () {
      const { port } = yield* start(true)
      for (const [path, accept] of [
        [small, "br, gzip"],
        [large, "identity"],
        [large, "deflate, zstd"],
        [large, "br;q=0, gzip;q=0"]
      ] as const) {
        const { bytes, headers } = yield* ask(port, path, { "accept-encoding": accept })
        assert.notProperty(headers, "content-encoding", accept)
        assert.strictEqual(headers.vary, "Accept-Encoding", "a cache must ask again for another coding")
        assert.doesNotThrow(() => JSON.parse(String(bytes)))
      }
    })
  )

  it.live("codes a document that is stored compressed once, keeps its tag, and answers HEAD like GET", () =>
    Effect.gen(function* () {
      const { port } = yield* start(true)
      for (const coding of ["br", "gzip", "identity"]) {
        const accept = { "accept-encoding": coding }
        const { bytes, headers } = yield* ask(port, "/openapi.json", accept)
        assert.strictEqual(headers["content-encoding"], coding === "identity" ? undefined : coding)
        const decode = coding === "br" ? brotliDecompressSync : coding === "gzip" ? gunzipSync : Buffer.from
        assert.property(JSON.parse(String(decode(bytes))), "openapi")
        const head = yield* ask(port, "/openapi.json", accept, "HEAD")
        assert.strictEqual(head.bytes.length, 0)
        for (const name of ["content-encoding", "content-length", "etag", "vary"]) {
          assert.strictEqual(head.headers[name], headers[name], name)
        }
        const again = yield* ask(port, "/openapi.json", { ...accept, "if-none-match": String(headers.etag) })
        assert.strictEqual(again.status, 304)
      }
    })
  )

  it.live("is off unless the operator turns it on", () =>
    Effect.gen(function* () {
      const { port } = yield* start(false)
      const { headers } = yield* ask(port, large, { "accept-encoding": "br, gzip" })
      assert.notProperty(headers, "content-encoding")
      assert.notProperty(headers, "vary")
    })
  )
})
