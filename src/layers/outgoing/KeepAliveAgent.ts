import { Agent, type ClientRequest, type ClientRequestArgs } from "node:http"
import type { Duplex } from "node:stream"
import * as Connection from "./Connection.ts"

export interface AgentLimits {
  readonly maxReceivedBytes: number
  /** The time for a new connection, and then for each request. */
  readonly timeoutMs: number
}

/**
 * Keeps connections for libraries that stand on Node's HTTP client, within the limits of ours. Node has a limit on the
 * silence of a server and none on the whole request: a server that sends a byte from time to time keeps it for ever.
 */
export class KeepAliveAgent extends Agent {
  private readonly limits: AgentLimits
  private readonly isSecure: boolean
  private readonly deadlines = new WeakMap<Duplex, NodeJS.Timeout>()

  constructor(protocol: string, limits: AgentLimits) {
    const isSecure = protocol === "https:"
    super({ keepAlive: true, protocol, defaultPort: isSecure ? 443 : 80 })
    this.isSecure = isSecure
    this.limits = limits
  }

  override createConnection(
    { host, port, servername }: ClientRequestArgs & { readonly servername?: string },
    created: (error: Error | null, socket: Duplex) => void
  ): undefined {
    const { maxReceivedBytes, timeoutMs } = this.limits
    const to = { host: host ?? "", port: Number(port), isSecure: this.isSecure, serverName: servername || undefined }
    Connection.open(to, { maxReceivedBytes, connectTimeoutMs: timeoutMs }, (error, socket) => {
      if (socket !== undefined) this.setDeadline(socket.once("close", () => this.clearDeadline(socket)))
      // Node reads the second argument of a success alone, and its type does not say so.
      created(error, socket as Duplex)
    })
    return undefined
  }

  override keepSocketAlive(socket: Duplex): unknown {
    this.clearDeadline(socket)
    // It returns whether the server lets the connection be kept. Its type says nothing.
    const isKept: unknown = super.keepSocketAlive(socket)
    return isKept
  }

  override reuseSocket(socket: Duplex, request: ClientRequest): void {
    this.setDeadline(socket)
    super.reuseSocket(socket, request)
  }

  private setDeadline(socket: Duplex): void {
    const { timeoutMs } = this.limits
    const late = Object.assign(new Error(`no answer within ${timeoutMs} ms`), { code: "ETIMEDOUT" })
    this.deadlines.set(socket, setTimeout(() => socket.destroy(late), timeoutMs).unref())
  }

  private clearDeadline(socket: Duplex): void {
    clearTimeout(this.deadlines.get(socket))
  }
}
