import { createServer, type Socket } from "node:net"
import { createServer as createTlsServer } from "node:tls"
import { type MessagePort, parentPort } from "node:worker_threads"
import { faults, mailFaults, starttlsFaults, tlsFaults } from "./ServerFaults.ts"

/** A request to the thread that runs the servers. Those with a reply include a port for it. */
export type Order =
  | {
      readonly _tag: "open"
      readonly fault: string
      /** When the fault starts: with the connection, or with the client's first bytes. */
      readonly begins: "connection" | "request"
      readonly certificate?: { readonly key: string; readonly cert: string } | undefined
    }
  | { readonly _tag: "look" }
  | { readonly _tag: "close" }

/** What a server has observed. */
export interface Seen {
  readonly connections: number
  readonly open: number
  /** Bytes that the system accepted from the server, over all connections. */
  readonly sentBytes: number
}

const all = [...faults, ...tlsFaults, ...mailFaults, ...starttlsFaults]
/** The connections as seen by clients, and below TLS. */
const sockets = new Set<Socket>()
const wires = new Set<Socket>()
let close = (): void => undefined

const play = (
  { begins, certificate, fault }: Extract<Order, { readonly _tag: "open" }>,
  reply: (port: number) => void
): void => {
  const act = all.find(({ name }) => name === fault)?.act
  if (act === undefined) throw new Error(`no fault is called ${fault}`)
  const onSocket = (socket: Socket): void => {
    sockets.add(socket.on("error", () => undefined))
    const wire = [...wires].find(({ remotePort }) => remotePort === socket.remotePort)
    // A TLS socket cannot be reset, so resets the TCP socket below.
    if (wire !== undefined && wire !== socket) socket.resetAndDestroy = () => wire.resetAndDestroy()
    if (begins === "connection") act(socket)
    else socket.once("data", () => act(socket))
    socket.resume()
  }
  const server = certificate === undefined ? createServer(onSocket) : createTlsServer(certificate, onSocket)
  server.on("connection", (wire: Socket) => wires.add(wire.on("error", () => undefined)))
  server.on("tlsClientError", () => undefined)
  server.listen(0, "127.0.0.1", () => {
    const address = server.address()
    reply(typeof address === "object" && address !== null ? address.port : 0)
  })
  close = () => {
    for (const wire of wires) wire.destroy()
    wires.clear()
    sockets.clear()
    server.close()
  }
}

const look = (): Seen => ({
  connections: wires.size,
  open: [...wires].filter(({ destroyed }) => !destroyed).length,
  sentBytes: [...sockets].reduce((sum, { bytesWritten, writableLength }) => sum + bytesWritten - writableLength, 0)
})

parentPort?.on("message", ({ order, to }: { readonly order: Order; readonly to: MessagePort }) => {
  if (order._tag === "open") play(order, (port) => to.postMessage(port))
  else if (order._tag === "look") to.postMessage(look())
  else close()
})
