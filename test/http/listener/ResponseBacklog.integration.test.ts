import { createServer, type Server } from "node:http"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { ResponseBacklog, responseClassOf } from "../../../src/http/listener/ResponseBacklog.ts"

const nothing = (): void => undefined

const listen = Effect.acquireRelease(
  Effect.callback<Server>((resume) => {
    const backlog = new ResponseBacklog(1_000_000, () => 0, nothing)
    const server = createServer({ ServerResponse: responseClassOf(backlog) })
    server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
  }),
  (server) => Effect.sync(() => server.close())
)

describe("a response of text", () => {
  it.live("is written to its socket in one piece, headers included", () =>
    Effect.gen(function* () {
      const server = yield* listen
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
      const address = server.address()
      const port = typeof address === "object" && address !== null ? address.port : assert.fail("no port")
      const text = yield* Effect.promise(async () =>
        (await fetch(`http://127.0.0.1:${port}/`, { headers: { connection: "close" } })).text()
      )
      assert.deepStrictEqual([text, pieces], ["body", 1])
    })
  )
})
