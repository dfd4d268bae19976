import { spawn } from "node:child_process"
import { connect, type Socket } from "node:net"
import { MessageChannel, Worker } from "node:worker_threads"
import { Effect, Schedule } from "effect"
import type { Certificate } from "./Certificates.ts"
import type { Order, Seen } from "./faultThread.ts"
import type { Fault } from "./ServerFaults.ts"

/** The thread that runs one server after another. */
export const faultThread = Effect.acquireRelease(
  Effect.sync(() => new Worker(new URL("./faultThread.ts", import.meta.url))),
  (thread) => Effect.promise(() => thread.terminate())
)

/** Uses a separate channel per reply, so that an abandoned reply is not mistaken for the next. */
const ask = <A>(thread: Worker, order: Order) =>
  Effect.callback<A>((resume) => {
    const { port1, port2 } = new MessageChannel()
    port1.once("message", (reply: A) => {
      port1.close()
      resume(Effect.succeed(reply))
    })
    thread.postMessage({ order, to: port2 }, [port2])
    return Effect.sync(() => port1.close())
  })

export interface FaultServer {
  readonly port: number
  readonly look: Effect.Effect<Seen>
}

/** A server with a fault on a free loopback port, until the scope closes. */
export const serveFault = (
  thread: Worker,
  { name }: Pick<Fault, "name">,
  options: { readonly begins: "connection" | "request"; readonly certificate?: Certificate | undefined }
) =>
  Effect.acquireRelease(
    Effect.map(
      ask<number>(thread, { _tag: "open", fault: name, ...options }),
      (port): FaultServer => ({ port, look: ask<Seen>(thread, { _tag: "look" }) })
    ),
    () => Effect.sync(() => thread.postMessage({ order: { _tag: "close" } satisfies Order }))
  )

/** Waits until the server has seen every connection close. */
export const untilClosed = ({ look }: FaultServer) =>
  look.pipe(
    Effect.filterOrFail(
      ({ open }) => open === 0,
      ({ open }) => new Error(`the client left ${open} connections open`)
    ),
    Effect.retry({ schedule: Schedule.spaced("20 millis"), times: 250 }),
    Effect.orDie
  )

const deafServer = `
  const { createServer } = require("node:net")
  const { parentPort } = require("node:worker_threads")
  const server = createServer().listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => {
    parentPort.postMessage(server.address().port)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  })`

/** Time in which the system accepts a connection to a port, if it accepts any. */
const acceptMs = 500

/** True if the system accepts a connection to the port. The connection stays open until the scope closes. */
const takesConnection = (port: number) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => connect(port, "127.0.0.1").on("error", () => undefined)),
      (socket) => Effect.sync(() => socket.destroy())
    ),
    (socket: Socket) => socket
  ).pipe(
    Effect.flatMap((socket) =>
      Effect.callback<boolean>((resume) => {
        socket.once("connect", () => resume(Effect.succeed(true)))
      })
    ),
    Effect.timeoutOrElse({ duration: acceptMs, orElse: () => Effect.succeed(false) })
  )

/** A port with a full queue of connections, because its server never accepts any. */
export const deafPort = Effect.gen(function* () {
  const thread = yield* Effect.acquireRelease(
    Effect.sync(() => new Worker(deafServer, { eval: true })),
    (thread) => Effect.promise(() => thread.terminate())
  )
  const port = yield* Effect.callback<number>((resume) => {
    thread.once("message", (port: number) => resume(Effect.succeed(port)))
  })
  while (yield* takesConnection(port));
  return port
})

/** A TLS server that sends endless session tickets, each of which costs the client more than the server. */
export const ticketFlood = ({ certFile, keyFile }: Certificate) =>
  Effect.acquireRelease(
    Effect.callback<{ readonly port: number; readonly stop: () => void }>((resume) => {
      const args = ["s_server", "-accept", "127.0.0.1:0", "-cert", certFile, "-key", keyFile]
      const server = spawn("openssl", [...args, "-num_tickets", "1000000000"], { stdio: ["pipe", "pipe", "ignore"] })
      server.stdout.setEncoding("utf8").on("data", (text: string) => {
        const port = /ACCEPT 127\.0\.0\.1:(\d+)/.exec(text)?.[1]
        if (port !== undefined) resume(Effect.succeed({ port: Number(port), stop: () => server.kill("SIGKILL") }))
      })
    }),
    ({ stop }) => Effect.sync(stop)
  ).pipe(Effect.map(({ port }) => port))
