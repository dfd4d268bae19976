import { createServer, type Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Connection from "../../../src/layers/outgoing/Connection.ts"

const sent = 1024 ** 2
const pieceBytes = 4 * 1024

/** Opens a connection to a server that sends 1 MiB at once, and passes each piece that arrives to `read`. */
const received = (read: (socket: Socket, piece: Buffer) => void) =>
  Effect.acquireUseRelease(
    Effect.sync(() => createServer((socket) => socket.on("error", () => undefined).end(Buffer.alloc(sent)))),
    (server) =>
      Effect.callback<void>((resume) => {
        server.listen(0, "127.0.0.1", () => {
          const address = server.address()
          const port = typeof address === "object" && address !== null ? address.port : assert.fail("no port")
          const limits = { maxReceivedBytes: 2 * sent, connectTimeoutMs: 5_000 }
          Connection.open({ host: "127.0.0.1", port, isSecure: false }, limits, (error, socket) => {
            if (socket === undefined) assert.fail(String(error))
            socket.on("data", (piece: Buffer) => read(socket, piece))
            socket.on("close", () => resume(Effect.void))
          })
        })
      }),
    (server) => Effect.sync(() => server.close())
  )

describe("a connection", () => {
  it.live("passes nothing on after the reader of a head has ended it, though more has arrived", () =>
    Effect.gen(function* () {
      const pieces: Array<number> = []
      yield* received((socket, piece) => {
        pieces.push(piece.length)
        socket.destroy()
      })
      assert.deepStrictEqual(pieces, [pieceBytes])
    })
  )

  it.live("passes every byte on, and a body in chunks larger than the pieces of a head", () =>
    Effect.gen(function* () {
      const pieces: Array<number> = []
      yield* received((_, piece) => void pieces.push(piece.length))
      assert.strictEqual(
        pieces.reduce((sum, bytes) => sum + bytes, 0),
        sent
      )
      assert.isAbove(Math.max(...pieces), pieceBytes)
    })
  )
})
