import { Agent, type ClientRequest, request as send } from "node:http"
import { Effect } from "effect"
import type { RandomRequest } from "./hostile/RandomRequests.ts"

export interface Reply {
  /** Undefined if the connection ended before a complete response. */
  readonly status: number | undefined
  /** The connection error. */
  readonly error: string | undefined
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
  readonly text: string
  /** Size of the body. */
  readonly bytes: number
}

/** Half of all requests share the connections from this address. */
const sharedAddress = "127.0.1.1"

/** The other requests come from many addresses, because anonymous requests are limited by address. */
const addressOf = (from: number): string =>
  `127.${1 + ((from >> 1) % 200)}.${(from >> 9) % 250}.${1 + ((from >> 17) % 250)}`

/** A value of `from` that gives the `n`th request a separate address. */
export const ownAddress = (n: number): number => n * 2

const broken = (error: NodeJS.ErrnoException): Reply => ({
  status: undefined,
  error: error.code ?? error.message,
  headers: {},
  text: "",
  bytes: 0
})

export type Exchange = Effect.Success<typeof make>

/** Sends requests unchanged. */
export const make = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => new Agent({ keepAlive: true })),
    (agent) => Effect.sync(() => agent.destroy())
  ),
  (agent) => {
    const once = (
      port: number,
      { body, from, method, path }: RandomRequest,
      headers: ReadonlyArray<readonly [string, string]>,
      resume: (reply: Reply | "again") => void
    ): ClientRequest => {
      const whole = [
        ["host", `localhost:${port}`],
        ...headers,
        ...(body === undefined ? [] : [["content-length", String(body.length)]])
      ]
      const own =
        from % 2 === 0
          ? { agent: false as const, localAddress: addressOf(from) }
          : { agent, localAddress: sharedAddress }
      const request = send({ port, host: "127.0.0.1", method, path, ...own, headers: whole.flat() })
      request.on("error", (error: NodeJS.ErrnoException) =>
        // The server may close a persistent connection just when it is reused.
        resume(request.reusedSocket && error.code === "ECONNRESET" ? "again" : broken(error))
      )
      request.on("response", (response) => {
        const chunks: Array<Buffer> = []
        response.on("data", (chunk: Buffer) => chunks.push(chunk)).on("error", (error) => resume(broken(error)))
        response.on("end", () => {
          const body = Buffer.concat(chunks)
          const { headers, statusCode: status } = response
          resume({ status, error: undefined, headers, text: body.toString("utf8"), bytes: body.length })
        })
      })
      request.end(body)
      return request
    }

    /** `headers` replace the request's own headers. */
    return (port: number, request: RandomRequest, headers: RandomRequest["headers"]): Effect.Effect<Reply> =>
      Effect.callback((resume) => {
        const attempt = (): ClientRequest =>
          once(port, request, headers, (reply) => {
            if (reply === "again") sent = attempt()
            else resume(Effect.succeed(reply))
          })
        let sent = attempt()
        return Effect.sync(() => sent.destroy())
      })
  }
)
