import { connect, createServer, type Socket } from "node:net"
import { Effect, Random } from "effect"

/** Half of the connections are cut within this many bytes towards the client. */
const maxBytesDown = 10_000

/** A fifth of the connections are cut within this many bytes towards the server. */
const maxBytesUp = 4_000

export interface CuttingProxy {
  readonly port: number
  /** Number of cut connections. */
  readonly cuts: () => number
  /** Stops cutting connections. */
  readonly stopCutting: Effect.Effect<void>
}

/**
 * A TCP proxy to `ports` in turn, which cuts connections after a random number of bytes, with a close or a reset. If
 * nobody listens on a port, the connection is closed. Closed with the scope.
 */
export const start = (ports: () => ReadonlyArray<number>) =>
  Effect.gen(function* () {
    const seed = yield* Random.nextIntBetween(1, 2 ** 31)
    return yield* Effect.acquireRelease(
      Effect.callback<{ readonly proxy: CuttingProxy; readonly close: () => void }>((resume) => {
        const random = generator(seed)
        const open = new Set<Socket>()
        let cuts = 0
        let turn = 0
        let isCutting = true
        const server = createServer((near) => {
          const all = ports()
          const far = connect(all[turn++ % all.length] ?? 1, "127.0.0.1")
          const isReset = random() < 0.5
          const cut = () => {
            cuts++
            if (isReset) near.resetAndDestroy()
            else near.end(() => near.destroy())
            far.destroy()
          }
          carry(far, near, isCutting && random() < 0.5 ? random() * maxBytesDown : Number.POSITIVE_INFINITY, cut)
          carry(near, far, isCutting && random() < 0.2 ? random() * maxBytesUp : Number.POSITIVE_INFINITY, cut)
          for (const socket of [near, far]) open.add(socket.on("close", () => open.delete(socket)))
        })
        server.listen(0, "127.0.0.1", () => {
          const address = server.address()
          const port = typeof address === "object" ? (address?.port ?? 0) : 0
          const stopCutting = Effect.sync(() => {
            isCutting = false
            for (const socket of open) socket.destroy()
          })
          const close = () => {
            server.close()
            for (const socket of open) socket.destroy()
          }
          resume(Effect.succeed({ proxy: { port, cuts: () => cuts, stopCutting }, close }))
        })
      }),
      ({ close }) => Effect.sync(close)
    ).pipe(Effect.map(({ proxy }) => proxy))
  })

/** Forwards at most this many bytes in one direction, and closes the other side together with this one. */
const carry = (from: Socket, to: Socket, maxBytes: number, cut: () => void): void => {
  let left = Math.ceil(maxBytes)
  from.on("data", (chunk) => {
    if (left <= 0) return
    to.write(chunk.subarray(0, left))
    left -= chunk.length
    if (left <= 0) cut()
  })
  from.on("error", () => to.destroy())
  from.on("close", () => to.destroy())
}

/** Reproducible numbers from 0 to 1, because Effect's `Random` is not available in a socket's callback. */
const generator = (seed: number) => {
  let state = seed
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
}
