import { connect, createServer, type Socket } from "node:net"
import { Effect, Redacted } from "effect"

/** A proxy between the replicas and the database that can make connections behave as if the host had died. */
export interface Proxy {
  readonly url: Redacted.Redacted
  /**
   * Stops forwarding on open connections without closing them. New ones work. Returns the number of silenced
   * connections.
   */
  readonly silence: Effect.Effect<number>
}

/** A proxy to the database at `target`, closed with the scope. */
export const start = (target: Redacted.Redacted) =>
  Effect.acquireRelease(
    Effect.callback<{ readonly proxy: Proxy; readonly close: () => void }>((resume) => {
      const url = new URL(Redacted.value(target))
      const carried = new Set<Socket>()
      const open = new Set<Socket>()
      const server = createServer((near) => {
        const far = connect(Number(url.port), url.hostname)
        for (const [one, other] of [
          [near, far],
          [far, near]
        ] as const) {
          open.add(one)
          carried.add(one)
          one.on("data", (chunk) => {
            if (carried.has(one)) other.write(chunk)
          })
          one.on("error", () => {})
          one.on("close", () => {
            open.delete(one)
            if (carried.delete(one)) other.destroy()
          })
        }
      })
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        const near = new URL(url)
        near.port = String(typeof address === "object" ? address?.port : "")
        const silence = Effect.sync(() => {
          const silenced = carried.size / 2
          carried.clear()
          return silenced
        })
        const close = () => {
          server.close()
          for (const socket of open) socket.destroy()
        }
        resume(Effect.succeed({ proxy: { url: Redacted.make(near.href), silence }, close }))
      })
    }),
    ({ close }) => Effect.sync(close)
  ).pipe(Effect.map(({ proxy }) => proxy))
