import { connect, isIP, type LookupFunction, type Socket } from "node:net"
import { connect as connectTls } from "node:tls"

export interface Destination {
  readonly host: string
  readonly port: number
  readonly isSecure: boolean
  /** The name that TLS requests and the certificate must match, instead of `host`. */
  readonly serverName?: string | null | undefined
  /** Defaults to the system's lookup. */
  readonly lookup?: LookupFunction | undefined
}

export interface ConnectionLimits {
  /** Per request, including TLS and HTTP framing. Must exceed the head by at least 64 KiB, the size of a read. */
  readonly maxReceivedBytes: number
  readonly connectTimeoutMs: number
}

/** Interval between checks of received TLS data. A flood of TLS messages keeps a core busy for this long at most. */
const lookMs = 100

/** Maximum TLS bytes per request without data, such as certificates (about 10 KiB) and session tickets. */
const maxTlsBytes = 256 * 1024

/**
 * Parsers check limits after each chunk, and 64 KiB can hold 2,400 informational responses, which take 40 ms. The first
 * `maxHeadBytes` of each response are therefore passed on in pieces.
 */
const pieceBytes = 4 * 1024
const maxHeadBytes = 160 * 1024

const keepAliveDelayMs = 60_000

const failure = (code: string, message: string): Error => Object.assign(new Error(message), { code })

/**
 * The code of the error if a server closes a kept connection when the next request arrives. Servers do so when their
 * keep-alive time ends; the request can be sent again on a new connection (RFC 9112, 9.3.1).
 */
export const staleCode = "ERR_STALE_CONNECTION"

const tooMuch = () => failure("ERR_TOO_MUCH_RECEIVED", "more arrived for one request than its limits allow")

/** Counts since the last write, which marks the next request on a connection that is kept open. */
class Received {
  private readonly socket: Socket
  private readonly wire: Socket
  private readonly maxBytes: number
  private written = 0
  /** Bytes received from the system, and bytes passed to readers. */
  private bytes = 0
  private data = 0
  private bytesBefore = 0
  private dataBefore = 0
  private writtenAtData = 0

  constructor(socket: Socket, wire: Socket, maxBytes: number) {
    this.socket = socket
    this.wire = wire
    this.maxBytes = maxBytes
  }

  isTooMuchWith(chunk: { readonly length: number } | undefined): boolean {
    if (this.socket.bytesWritten !== this.written) {
      this.written = this.socket.bytesWritten
      this.bytesBefore = this.bytes
      this.dataBefore = this.data
    }
    this.bytes = this.wire.bytesRead
    this.data += chunk?.length ?? 0
    if (chunk !== undefined) this.writtenAtData = this.written
    const bytes = this.bytes - this.bytesBefore
    const data = this.data - this.dataBefore
    return bytes > this.maxBytes || bytes > maxTlsBytes + 2 * data
  }

  /** True if earlier requests were answered, and of the answer to the latest one nothing has arrived. */
  get isUnanswered(): boolean {
    return this.data > 0 && this.socket.bytesWritten !== this.writtenAtData
  }

  /** True if `chunk`, the last one counted, may still be part of a response's head. */
  isHead(chunk: { readonly length: number }): boolean {
    return this.data - this.dataBefore - chunk.length < maxHeadBytes
  }
}

/**
 * Runs before any parser, because parsers do not limit informational responses, blank lines or chunk extensions. A
 * timer also checks `wire`, because TLS messages such as session tickets take CPU time but never become a chunk.
 */
const limitReceived = (socket: Socket, wire: Socket, maxBytes: number): void => {
  const received = new Received(socket, wire, maxBytes)
  const push = socket.push.bind(socket)
  socket.push = (chunk, encoding) => {
    if (chunk === null && received.isUnanswered) {
      socket.destroy(failure(staleCode, "the server closed a kept connection instead of answering"))
      return false
    }
    if (chunk === null) return push(chunk, encoding)
    if (received.isTooMuchWith(chunk)) {
      socket.destroy(tooMuch())
      return false
    }
    if (!(chunk instanceof Buffer) || !received.isHead(chunk)) return push(chunk, encoding)
    let wantsMore = true
    for (let from = 0; from < chunk.length && !socket.destroyed; from += pieceBytes)
      wantsMore = push(chunk.subarray(from, from + pieceBytes))
    return wantsMore
  }
  socket.on("error", (error) => {
    if (received.isUnanswered) Object.assign(error, { code: staleCode })
  })
  const look = setInterval(() => {
    if (received.isTooMuchWith(undefined)) socket.destroy(tooMuch())
  }, lookMs).unref()
  socket.once("close", () => clearInterval(look))
}

/** Starts TLS for HTTP/1.1 only, because these limits do not cover HTTP/2. */
const secured = (wire: Socket, name: string): Socket =>
  // An IP address is not a valid server name (RFC 6066, 3). The certificate is then compared with `host`.
  connectTls({
    socket: wire,
    host: name,
    ...(isIP(name) === 0 ? { servername: name } : {}),
    ALPNProtocols: ["http/1.1"]
  })

/**
 * Calls `done` once. The returned function cancels the attempt. TLS starts on a connected socket, because a TLS socket
 * that connects itself throws an uncatchable error if the system refuses the connection at once.
 */
export const open = (
  { host, isSecure, lookup, port, serverName }: Destination,
  limits: ConnectionLimits,
  done: (error: Error | null, socket?: Socket) => void
): (() => void) => {
  const wire = connect({
    host,
    port,
    ...(lookup === undefined ? {} : { lookup }),
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: keepAliveDelayMs
  })
  let socket = wire
  let isDone = false
  const finish = (error: Error | null): boolean => {
    if (isDone) return false
    isDone = true
    clearTimeout(timer)
    if (error !== null) {
      socket.destroy()
      wire.destroy()
    }
    return true
  }
  const fail = (error: Error): void => {
    if (finish(error)) done(error)
  }
  const ready = (): void => {
    if (finish(null)) done(null, socket)
  }
  const late = () => fail(failure("ETIMEDOUT", `no connection within ${limits.connectTimeoutMs} ms`))
  const timer = setTimeout(late, limits.connectTimeoutMs)
  // These listeners stay attached: an error without a listener ends the process.
  wire.on("error", fail)
  wire.once("close", () => fail(failure("ECONNRESET", "the connection was closed before it was ready")))
  wire.once("connect", () => {
    if (isDone) return
    if (isSecure)
      socket = secured(wire, serverName ?? host)
        .on("error", fail)
        .once("secureConnect", ready)
    limitReceived(socket, wire, limits.maxReceivedBytes)
    if (!isSecure) ready()
  })
  return () => void finish(failure("ECANCELED", "the connection was given up"))
}
