import { createServer } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { UpstreamClient } from "../../../src/layers/providers/UpstreamClient.ts"
import * as UpstreamRequest from "../../../src/layers/providers/UpstreamRequest.ts"

const size = 400_000

/** One chunk a byte (RFC 9112, 7.1). */
const inChunksOfOneByte = (bytes: number): string =>
  `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${"1\r\nx\r\n".repeat(bytes)}0\r\n\r\n`

/** The address of a server that answers whatever it is sent with this text. */
const serve = (answer: string) =>
  Effect.acquireRelease(
    Effect.callback<{ readonly url: string; readonly close: () => void }>((resume) => {
      const server = createServer((socket) => {
        socket.on("error", () => undefined)
        socket.once("data", () => socket.end(answer))
      })
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        const port = typeof address === "object" && address !== null ? address.port : assert.fail("no port")
        resume(Effect.succeed({ url: `http://127.0.0.1:${port}/`, close: () => server.close() }))
      })
    }),
    ({ close }) => Effect.sync(close)
  )

describe("UpstreamClient", () => {
  it.live("a body in chunks of one byte is collected into one buffer", () =>
    Effect.gen(function* () {
      const { url } = yield* serve(inChunksOfOneByte(size))
      const client = yield* UpstreamClient
      const body = yield* client.exchange(UpstreamRequest.get(url, {}), (reply) => reply.body(2 * size))
      assert.strictEqual(body.toString(), "x".repeat(size))
      assert.isAtMost(body.buffer.byteLength, 2 * size)
    }).pipe(Effect.provide(UpstreamClient.layer))
  )

  it.live("a body in chunks of one byte that is too long is refused as any other", () =>
    Effect.gen(function* () {
      const { url } = yield* serve(inChunksOfOneByte(size))
      const client = yield* UpstreamClient
      const refused = yield* Effect.flip(client.exchange(UpstreamRequest.get(url, {}), (reply) => reply.body(size - 1)))
      assert.strictEqual(refused._tag, "BodyTooLarge")
    }).pipe(Effect.provide(UpstreamClient.layer))
  )
})
