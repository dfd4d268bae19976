import { connect } from "node:net"
import { Effect } from "effect"

/** A response as it arrived on the socket. */
export interface RawReply {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

export interface RawExchange {
  readonly replies: ReadonlyArray<RawReply>
  /** Bytes of all responses with their headers. */
  readonly bytes: number
  /** "late" if the server did not close the connection in time. */
  readonly end: "closed" | "reset" | "late"
}

const endOfHead = Buffer.from("\r\n\r\n")

/** Returns the length of a chunked body; undefined if its end is missing. */
const chunkedLength = (bytes: Buffer): number | undefined => {
  for (let at = 0; ; ) {
    const end = bytes.indexOf("\r\n", at)
    if (end < 0) return undefined
    const size = Number.parseInt(bytes.toString("latin1", at, end), 16)
    at = end + 2 + size + 2
    if (size === 0) return at
    if (at > bytes.length) return undefined
  }
}

/** Parses final responses. The last one may be incomplete. */
export const repliesIn = (received: Buffer): ReadonlyArray<RawReply> => {
  const replies: Array<RawReply> = []
  for (let rest = received; ; ) {
    const end = rest.indexOf(endOfHead)
    const [first = "", ...lines] = rest.toString("latin1", 0, Math.max(end, 0)).split("\r\n")
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(first)?.[1])
    if (end < 0 || Number.isNaN(status)) return replies
    const headers: Record<string, string> = {}
    for (const line of lines) {
      const colon = line.indexOf(":")
      headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim()
    }
    const body = rest.subarray(end + 4)
    const isChunked = headers["transfer-encoding"] === "chunked"
    const isEmpty = status < 200 || status === 204 || status === 304
    const length = isEmpty ? 0 : isChunked ? chunkedLength(body) : Number(headers["content-length"] ?? body.length)
    if (status >= 200) replies.push({ status, headers, text: body.toString("utf8", 0, length) })
    rest = body.subarray(length)
  }
}

/** Writes any bytes to a socket, and reads until the server closes the connection or `patienceMs` have passed. */
export const send = (
  port: number,
  bytes: Buffer,
  options: {
    /** Half-closes the connection after the last byte. */
    readonly ends: boolean
    readonly patienceMs: number
  }
): Effect.Effect<RawExchange> =>
  Effect.callback((resume) => {
    const chunks: Array<Buffer> = []
    const socket = connect({ port, host: "127.0.0.1" })
    const leave = (end: RawExchange["end"]): void => {
      clearTimeout(timer)
      socket.destroy()
      const received = Buffer.concat(chunks)
      resume(Effect.succeed({ replies: repliesIn(received), bytes: received.length, end }))
    }
    const timer = setTimeout(() => leave("late"), options.patienceMs)
    socket.on("data", (chunk) => chunks.push(chunk))
    socket.on("error", () => leave("reset"))
    socket.on("end", () => leave("closed"))
    if (options.ends) socket.end(bytes)
    else socket.write(bytes)
    return Effect.sync(() => leave("late"))
  })
