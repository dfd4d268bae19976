import { request } from "node:http"
import { Effect } from "effect"

/** The status of a GET with a custom `Host`, which `fetch` does not allow. */
export const statusByHost = (port: number | string, path: string, host: string) =>
  Effect.callback<number>((resume) => {
    request({ host: "127.0.0.1", port, path, headers: { host, connection: "close" } }, (response) => {
      response.resume()
      resume(Effect.succeed(response.statusCode ?? 0))
    })
      .on("error", (error) => resume(Effect.die(error)))
      .end()
  })
