import { createServer, type Server } from "node:http"
import { connect } from "node:net"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { ResponseBacklog, responseClassOf } from "../../../src/http/listener/ResponseBacklog.ts"

const nothing = (): void => undefined

const listen = (maxBytes: number, onCut: () => void) =>
  Effect.acquireRelease(
    Effect.callback<{ readonly server: Server; readonly port: number }>((resume) => {
      const server = createServer({ ServerResponse: responseClassOf(new ResponseBacklog(maxBytes, () => 0, onCut)) })
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        const port = typeof address === "object" && address !== null ? address.port : assert.fail("no port")
        resume(Effect.succeed({ server, port }))
      })
    }),
    ({ server }) => Effect.sync(() => server.close())
  )

describe("a response of text", () => {
  it.live("is written to its socket in one piece, headers included", () =>
    Effect.gen(function* () {
      const { port, server } = yield* listen(1_000_000, nothing)
      const scope = yield* Effect.scope
      server.on(
        "request",
        yield* NodeHttpServer.makeHandler(Effect.succeed(HttpServerResponse.text("body")), { scope })
      )
      let pieces = 0
      server.on("connection", (socket) => {
        const write = socket.write.bind(socket)
        // The cast: a wrapper cannot repeat the overloads of Node.
        socket.write = ((...args: Parameters<typeof write>) => {
          pieces++
          return write(...args)
        }) as typeof socket.write
      })
      const text = yield* Effect.promise(async () =>
        (await fetch(`http://127.0.0.1:${port}/`, { headers: { connection: "close" } })).text()
      )
      assert.deepStrictEqual([text, pieces], ["body", 1])
    })
  )

  it.live("that a client does not read counts with its bytes, three for a character of Chinese", () =>
    Effect.gen(function* () {
      const cut = yield* Deferred.make<void>()
      const text = "中".repeat(10_000_000)
      // More than the characters of two responses, and less than the bytes of one.
      const { port, server } = yield* listen(25_000_000, () => Deferred.doneUnsafe(cut, Effect.void))
      server.on("request", (_, response) => response.end(text))
      for (let clients = 0; clients < 2; clients++) {
        yield* Effect.acquireRelease(
          Effect.sync(() => connect(port, "127.0.0.1").on("error", nothing).pause()),
          (socket) => Effect.sync(() => socket.destroy())
        ).pipe(Effect.tap((socket) => Effect.sync(() => socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n"))))
      }
      yield* Effect.timeout(Deferred.await(cut), "30 seconds")
    })
  )
})
