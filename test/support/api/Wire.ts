import { connect as connectSocket } from "node:net"
import { Effect } from "effect"
import { assertRateLimitFields } from "./RateLimitFields.ts"
import { secret } from "./StubServices.ts"

/** A response as sent on the wire. */
export interface WireResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  /** The body as JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into bodies of every shape and asserts what it finds.
  readonly json: any
}

/** The complete responses in `bytes`. Bodies have a Content-Length, as all of this service's do. */
const parse = (bytes: Buffer): ReadonlyArray<WireResponse> => {
  const end = bytes.indexOf("\r\n\r\n")
  if (end < 0) return []
  const [statusLine = "", ...lines] = bytes.subarray(0, end).toString("latin1").split("\r\n")
  const headers: Record<string, string> = {}
  for (const line of lines) {
    const colon = line.indexOf(":")
    headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim()
  }
  const status = Number(statusLine.split(" ")[1])
  const bodyEnd = end + 4 + Number(headers["content-length"] ?? 0)
  if (status < 200) return parse(bytes.subarray(end + 4))
  if (bytes.length < bodyEnd) return []
  assertRateLimitFields(status, (name) => headers[name])
  const text = bytes.subarray(end + 4, bodyEnd).toString()
  const response = {
    status,
    headers,
    text,
    get json() {
      return JSON.parse(text)
    }
  }
  return [response, ...parse(bytes.subarray(bodyEnd))]
}

/** A loopback connection that writes exactly the given bytes. */
export const connect = (port: number) =>
  Effect.acquireRelease(
    Effect.callback<Connection>((resume) => {
      const socket = connectSocket({ host: "127.0.0.1", port, allowHalfOpen: false }, () =>
        resume(Effect.succeed(connection))
      )
      // Doubles in size, because a large response has hundreds of chunks, and each is parsed.
      let buffer = Buffer.alloc(1024)
      let length = 0
      const received = () => buffer.subarray(0, length)
      const waiting = new Set<() => void>()
      const changed = () => {
        for (const look of [...waiting]) look()
      }
      socket.on("data", (chunk) => {
        if (length + chunk.length > buffer.length) {
          buffer = Buffer.concat([received()], 2 * (length + chunk.length))
        }
        length += chunk.copy(buffer, length)
        changed()
      })
      socket.on("error", changed).on("close", changed)
      const when = <A>(what: () => A | undefined): Effect.Effect<A> =>
        Effect.callback<A>((resume) => {
          const look = () => {
            const found = what()
            if (found === undefined) return
            waiting.delete(look)
            resume(Effect.succeed(found))
          }
          waiting.add(look)
          look()
        })
      const connection: Connection = {
        send: (bytes) => Effect.sync(() => void socket.write(bytes)),
        responses: (count) =>
          when(() => {
            const responses = parse(received())
            return responses.length >= count || socket.closed ? responses : undefined
          }),
        closed: when(() => (socket.closed ? parse(received()) : undefined)),
        pause: Effect.sync(() => void socket.pause()),
        resume: Effect.sync(() => void socket.resume()),
        read: (bytes) =>
          Effect.suspend(() => {
            const enough = length + bytes
            socket.resume()
            return Effect.ensuring(
              when(() => (length >= enough || socket.closed ? true : undefined)),
              Effect.sync(() => void socket.pause())
            )
          }),
        raw: () => received().toString("latin1"),
        leave: Effect.sync(() => void socket.destroy()),
        finish: Effect.sync(() => void socket.end()),
        abort: Effect.sync(() => void socket.resetAndDestroy())
      }
    }),
    ({ abort }) => abort
  )

export interface Connection {
  readonly send: (bytes: string | Uint8Array) => Effect.Effect<void>
  /** Waits for `count` complete responses, or until the connection closes. */
  readonly responses: (count: number) => Effect.Effect<ReadonlyArray<WireResponse>>
  /** Waits until the connection closes, and returns all responses. */
  readonly closed: Effect.Effect<ReadonlyArray<WireResponse>>
  /** Stops reading until `resume`. */
  readonly pause: Effect.Effect<void>
  readonly resume: Effect.Effect<void>
  /** Reads this many more bytes, or until the connection closes, then stops reading. */
  readonly read: (bytes: number) => Effect.Effect<void>
  readonly raw: () => string
  /** Closes both directions without a reset, like a process that exits. */
  readonly leave: Effect.Effect<void>
  /** Half-closes the connection and continues reading. */
  readonly finish: Effect.Effect<void>
  readonly abort: Effect.Effect<void>
}

/** A search with the stub's key, as bytes. */
export const search = (query: string, headers: ReadonlyArray<string> = []): string =>
  [
    `GET /v1/query?target=alpha_search&query=${encodeURIComponent(query)} HTTP/1.1`,
    "Host: quarry.test",
    `Authorization: Bearer ${secret}`,
    ...headers,
    "",
    ""
  ].join("\r\n")
