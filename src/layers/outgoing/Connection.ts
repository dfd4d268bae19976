import { connect, isIP, type LookupFunction, type Socket } from "node:net"
import { connect as connectTls } from "node:tls"

/** The other end of a connection. */
export interface Destination {
  /** A name, or an address without the brackets of IPv6. */
  readonly host: string
  readonly port: number
  readonly isSecure: boolean
  /** The name that TLS asks for, and that the certificate must have, in place of `host`. */
  readonly serverName?: string | null | undefined
  /** Finds the addresses of `host`. Undefined for the system's own lookup. */
  readonly lookup?: LookupFunction | undefined
}

export interface ConnectionLimits {
  /**
   * Bytes that may arrive after each request: the answer with its framing, and all of TLS. Larger than a head by 64 KiB
   * at least, because a connection is read in pieces of that size.
   */
  readonly maxReceivedBytes: number
  /** The time until the connection is ready for a request, TLS included. */
  readonly connectTimeoutMs: number
}

/** The time between looks at what TLS received. A flood of TLS's own messages uses a core for this long at most. */
const lookMs = 100

/**
 * Bytes of TLS for one request that carry no data: the handshake, whose certificates have some 10 KiB, and tickets. Small
 * records may take as much again as the data in them.
 */
const maxTlsBytes = 256 * 1024

const keepAliveDelayMs = 60_000

/** An error that names its cause in `code`, as those of the system do. */
const failure = (code: string, message: string): Error => Object.assign(new Error(message), { code })

const tooMuch = () => failure("ERR_TOO_MUCH_RECEIVED", "more arrived for one request than its limits allow")

/** Counts from the moment at which something was last written: the next request on a connection that is kept open. */
class Received {
  private readonly socket: Socket
  private readonly wire: Socket
  private readonly maxBytes: number
  private written = 0
  /** Bytes from the system, and those that readers get. */
  private bytes = 0
  private data = 0
  private bytesBefore = 0
  private dataBefore = 0

  constructor(socket: Socket, wire: Socket, maxBytes: number) {
    this.socket = socket
    this.wire = wire
    this.maxBytes = maxBytes
  }

  /** Counts a chunk that has arrived, if there is one, and checks all that has. */
  isTooMuchWith(chunk: { readonly length: number } | undefined): boolean {
    if (this.socket.bytesWritten !== this.written) {
      this.written = this.socket.bytesWritten
      this.bytesBefore = this.bytes
      this.dataBefore = this.data
    }
    this.bytes = this.wire.bytesRead
    this.data += chunk?.length ?? 0
    const bytes = this.bytes - this.bytesBefore
    const data = this.data - this.dataBefore
    return bytes > this.maxBytes || bytes > maxTlsBytes + 2 * data
  }
}

/**
 * Destroys `socket` when more arrives than `maxBytes` for one request.
 *
 * The check stands before every reader, because parsers have no limit on some of what a server can send without end:
 * informational responses, blank lines, the extensions of chunks. A chunk above the limit reaches no parser. `wire` is
 * the TCP socket below `socket`, and counts what the system received. A timer looks at it too, because messages of TLS
 * itself, such as session tickets, cost time and never become a chunk.
 */
const limitReceived = (socket: Socket, wire: Socket, maxBytes: number): void => {
  const received = new Received(socket, wire, maxBytes)
  const push = socket.push.bind(socket)
  socket.push = (chunk, encoding) => {
    if (chunk === null || !received.isTooMuchWith(chunk)) return push(chunk, encoding)
    socket.destroy(tooMuch())
    return false
  }
  const look = setInterval(() => {
    if (received.isTooMuchWith(undefined)) socket.destroy(tooMuch())
  }, lookMs).unref()
  socket.once("close", () => clearInterval(look))
}

/** TLS on a connection, for HTTP/1.1 alone: none of the limits here count what HTTP/2 can send. */
const secured = (wire: Socket, name: string): Socket =>
  // An address is no server name (RFC 6066, 3): the certificate is compared with `host` then.
  connectTls({
    socket: wire,
    host: name,
    ...(isIP(name) === 0 ? { servername: name } : {}),
    ALPNProtocols: ["http/1.1"]
  })

/**
 * Opens a connection that ends by itself when its limits are passed, and calls `done` once with it or with an error.
 * Returns a function that gives the attempt up, after which `done` is not called.
 *
 * TLS starts on a connected socket. Node's own way, a TLS socket that connects, throws where the system refuses the
 * connection at once, as on a host without a network, and leaves an error that nothing can catch.
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
  // They stay when the connection is handed over: an error that nobody listens for ends the process.
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
