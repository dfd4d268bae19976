import cluster, { type Worker } from "node:cluster"
import type { Readable, Writable } from "node:stream"
import { Deferred, Effect, Predicate } from "effect"
import type { Metrics } from "../../http/admin/exposition.ts"

export interface WorkerProcess {
  readonly number: number
  readonly worker: Worker
  readonly ready: Deferred.Deferred<void>
  readonly ended: Deferred.Deferred<End>
  /** The port of its private listener; undefined until it listens. */
  adminPort: number | undefined
  metrics: Metrics
}

export interface End {
  readonly code: number | null
  readonly signal: string | null
}

export const isServing = ({ ended, ready }: WorkerProcess): boolean =>
  Deferred.isDoneUnsafe(ready) && !Deferred.isDoneUnsafe(ended)

const newline = "\n".charCodeAt(0)

/** Whole lines: a pipe write is atomic only up to 4 KiB. A slow reader of the log slows down the worker. */
export const copyLines = (from: Readable, to: Writable): void => {
  let rest: Buffer = Buffer.alloc(0)
  const write = (bytes: Buffer): void => {
    if (bytes.length === 0 || to.write(bytes)) return
    from.pause()
    to.once("drain", () => from.resume())
  }
  from.on("data", (chunk: Buffer) => {
    const end = chunk.lastIndexOf(newline) + 1
    if (end > 0) write(Buffer.concat([rest, chunk.subarray(0, end)]))
    rest = end > 0 ? chunk.subarray(end) : Buffer.concat([rest, chunk])
  })
  from.once("end", () => write(rest.length === 0 ? rest : Buffer.concat([rest, Buffer.from("\n")])))
}

export const configure = (toTerminal: boolean): Effect.Effect<void> =>
  Effect.sync(() => {
    // Round-robin: the system would prefer awake workers, and connections waiting for a worker that ends would be lost.
    cluster.schedulingPolicy = cluster.SCHED_RR
    cluster.setupPrimary({ stdio: ["ignore", toTerminal ? "inherit" : "pipe", "inherit", "ipc"] })
    process.stdout.on("error", () => undefined)
    // A worker that hangs would not notice the end of this process.
    process.on("exit", () => {
      for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill("SIGKILL")
    })
  })

const adminPortOf = (message: unknown): number | undefined =>
  Predicate.hasProperty(message, "adminPort") && typeof message.adminPort === "number" ? message.adminPort : undefined

export const launch = (number: number, env: Readonly<Record<string, string>>): Effect.Effect<WorkerProcess> =>
  Effect.sync(() => {
    const worker = cluster.fork(env)
    const started: WorkerProcess = {
      number,
      worker,
      ready: Deferred.makeUnsafe(),
      ended: Deferred.makeUnsafe(),
      adminPort: undefined,
      metrics: new Map()
    }
    const end = (end: End) => Deferred.doneUnsafe(started.ended, Effect.succeed(end))
    worker.on("message", (message) => {
      started.adminPort = adminPortOf(message) ?? started.adminPort
    })
    worker.once("listening", () => Deferred.doneUnsafe(started.ready, Effect.void))
    worker.once("exit", (code, signal) => end({ code, signal }))
    worker.once("error", () => end({ code: null, signal: null }))
    if (worker.process.stdout !== null) copyLines(worker.process.stdout, process.stdout)
    return started
  })

/** One slow worker must not delay the answer for all. */
const answerMs = 2_000

/** Requests a path of a worker's private listener. The reply is undefined if the worker does not respond. */
export const ask = ({ adminPort, number }: WorkerProcess, path: string) =>
  Effect.tryPromise(async () => {
    const signal = AbortSignal.timeout(answerMs)
    const response = await fetch(`http://127.0.0.1:${adminPort}${path}`, { signal })
    return { number, reply: { status: response.status, text: await response.text() } }
  }).pipe(Effect.orElseSucceed(() => ({ number, reply: undefined })))
