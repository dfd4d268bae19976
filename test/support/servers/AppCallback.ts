import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { Effect } from "effect"

/**
 * The redirect endpoint of an app on this machine, on a real socket: its address, and every address that was requested.
 * Intercepting routes in the browser would not work, because redirects are not intercepted.
 */
export const make = Effect.map(
  Effect.acquireRelease(
    Effect.promise(
      () =>
        new Promise<{ server: ReturnType<typeof createServer>; visits: Array<URL> }>((resolve) => {
          const visits: Array<URL> = []
          const server = createServer((request, response) => {
            visits.push(new URL(request.url ?? "", "http://127.0.0.1"))
            response.setHeader("content-type", "text/html").end("<title>Connected</title>")
          })
          server.listen(0, "127.0.0.1", () => resolve({ server, visits }))
        })
    ),
    ({ server }) =>
      Effect.sync(() => {
        server.closeAllConnections()
        server.close()
      })
  ),
  ({ server, visits }) => ({ visits, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback` })
)
