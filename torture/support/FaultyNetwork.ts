import { connect, createServer, type Socket } from "node:net"
import { Effect } from "effect"

/** Ends a connection after this many bytes in both directions, with a reset or a close. */
export interface Break {
  readonly bytes: number
  readonly isReset: boolean
}

/** What happens to a connection: it is forwarded, broken, or answered by the proxy itself. */
export type Fate = "carried" | Break | { readonly answer: string }

export interface FaultyNetwork {
  readonly url: string
  /** The port to forward connections to. Without one they are closed immediately. */
  target: number | undefined
}

/** A TCP proxy on loopback, closed with the scope. `fateOf` decides what happens to each connection. */
export const start = (fateOf: () => Fate) =>
  Effect.acquireRelease(
    Effect.callback<{ readonly network: FaultyNetwork; readonly close: () => void }>((resume) => {
      const open = new Set<Socket>()
      const server = createServer((near) => {
        track(open, near)
        const fate = fateOf()
        if (fate !== "carried" && "answer" in fate) {
          near.once("data", () => near.end(fate.answer))
        } else if (network.target === undefined) near.destroy()
        else carry(near, track(open, connect(network.target, "127.0.0.1")), fate)
      })
      const network: FaultyNetwork = { url: "", target: undefined }
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`
        const close = () => {
          server.close()
          for (const socket of open) socket.destroy()
        }
        resume(Effect.succeed({ network: Object.assign(network, { url }), close }))
      })
    }),
    ({ close }) => Effect.sync(close)
  ).pipe(Effect.map(({ network }) => network))

const track = (open: Set<Socket>, socket: Socket): Socket => {
  open.add(socket)
  return socket.on("error", () => {}).on("close", () => open.delete(socket))
}

/** Forwards bytes between two connections until one closes or breaks. */
const carry = (near: Socket, far: Socket, fate: "carried" | Break): void => {
  let left = fate === "carried" ? Number.POSITIVE_INFINITY : fate.bytes
  const forward = (from: Socket, to: Socket) => {
    from.on("data", (chunk) => {
      to.write(chunk.subarray(0, left))
      left -= chunk.length
      if (left > 0 || fate === "carried") return
      left = 0
      far.destroy()
      if (fate.isReset) near.resetAndDestroy()
      else near.end()
    })
    from.on("close", () => to.destroy())
  }
  forward(near, far)
  forward(far, near)
}
