import { Agent, type ClientRequest, type ClientRequestArgs } from "node:http"
import type { Duplex } from "node:stream"
import * as Connection from "./Connection.ts"

export interface AgentLimits {
  readonly maxReceivedBytes: number
  readonly timeoutMs: number
}

/** Node's HTTP client limits silence but not a whole request, which a server could hold forever byte by byte. */
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
      // Node ignores the second argument after an error, but its type requires one.
      created(error, socket as Duplex)
    })
    return undefined
  }

  override keepSocketAlive(socket: Duplex): unknown {
    this.clearDeadline(socket)
    // The result says if the server allows keep-alive. Node's type omits it.
    const isKept: unknown = super.keepSocketAlive(socket)
    return isKept
  }

  override reuseSocket(socket: Duplex, request: ClientRequest): void {
    this.setDeadline(socket)
    super.reuseSocket(socket, request)
  }

  private setDeadline(socket: Duplex): void {
    const { timeoutMs } = this.limits
    const late = Object.assign(new Error(`no response within ${timeoutMs} ms`), { code: "ETIMEDOUT" })
    this.deadlines.set(socket, setTimeout(() => socket.destroy(late), timeoutMs).unref())
  }

  private clearDeadline(socket: Duplex): void {
    clearTimeout(this.deadlines.get(socket))
  }
}
