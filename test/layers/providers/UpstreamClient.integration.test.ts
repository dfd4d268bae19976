import { createServer } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { UpstreamClient } from "../../../src/layers/providers/UpstreamClient.ts"
import * as UpstreamRequest from "../../../src/layers/providers/UpstreamRequest.ts"

/** A server that closes each connection when its second request arrives; counts connections and requests. */
const forgetful = Effect.acquireRelease(
  Effect.callback<{
    readonly url: string
    readonly seen: { connections: number; requests: number }
    close: () => void
  }>((resume) => {
    const seen = { connections: 0, requests: 0 }
    const server = createServer((socket) => {
      seen.connections++
      let isUsed = false
      socket.on("error", () => undefined)
      socket.on("data", () => {
        seen.requests++
        if (isUsed) socket.destroy()
        isUsed = true
        if (!socket.destroyed) socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
      })
    })
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      const port = typeof address === "object" && address !== null ? address.port : assert.fail("no port")
      resume(Effect.succeed({ url: `http://127.0.0.1:${port}/`, seen, close: () => server.close() }))
    })
  }),
  ({ close }) => Effect.sync(close)
)

describe("a kept connection that the server closes when the next request arrives", () => {
  it.live("is replaced by a new one for a request that may be repeated, once", () =>
    Effect.gen(function* () {
      const { seen, url } = yield* forgetful
      const client = yield* UpstreamClient
      const ask = (options?: { readonly mayRepeat: boolean }) =>
        // The pause lets the client put the connection back.
        Effect.tap(
          client.exchange(UpstreamRequest.post(url, {}), (reply) => reply.body(10), options),
          () => Effect.sleep(20)
        )
      assert.strictEqual((yield* ask({ mayRepeat: true })).toString(), "ok")
      assert.strictEqual((yield* ask({ mayRepeat: true })).toString(), "ok")
      assert.deepStrictEqual(seen, { connections: 2, requests: 3 })
      yield* ask()
      assert.deepInclude(yield* Effect.flip(ask()), { code: "ERR_STALE_CONNECTION" })
    }).pipe(Effect.provide(UpstreamClient.layer))
  )

  it.live("a new connection that is closed without an answer is not tried again", () =>
    Effect.gen(function* () {
      let connections = 0
      const server = createServer((socket) => {
        connections++
        socket.on("error", () => undefined)
        socket.once("data", () => socket.destroy())
      })
      yield* Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void)))
      const address = server.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      const client = yield* UpstreamClient
      const asked = client.exchange(UpstreamRequest.get(`http://127.0.0.1:${port}/`, {}), (reply) => reply.body(10), {
        mayRepeat: true
      })
      yield* Effect.flip(asked)
      assert.strictEqual(connections, 1)
      server.close()
    }).pipe(Effect.provide(UpstreamClient.layer))
  )
})
