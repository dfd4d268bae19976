import cluster, { type Worker } from "node:cluster"
import type { Readable, Writable } from "node:stream"
import { Deferred, Effect, Predicate } from "effect"
import type { Metrics } from "../../http/admin/exposition.ts"

/** A worker, as its supervisor knows it. */
export interface WorkerProcess {
  /** Its place among the workers, from 1. The one that replaces it has the same. */
  readonly number: number
  readonly worker: Worker
  /** Done when it listens. */
  readonly ready: Deferred.Deferred<void>
  readonly ended: Deferred.Deferred<End>
  /** The port of its private listener; undefined until it has one. */
  adminPort: number | undefined
  /** The metrics that it gave last. */
  metrics: Metrics
}

export interface End {
  readonly code: number | null
  readonly signal: string | null
}

export const isServing = ({ ended, ready }: WorkerProcess): boolean =>
  Deferred.isDoneUnsafe(ready) && !Deferred.isDoneUnsafe(ended)

const newline = "\n".charCodeAt(0)

/**
 * Copies a log line by line: a pipe takes 4 KiB at once, and of longer pieces those of two workers would be mixed. Where
 * the reader of the log is slow, the worker waits as it would for that reader.
 */
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

/** Sends the log of workers through this process, unless it is a person's terminal. Their complaints go where its own go. */
export const configure = (toTerminal: boolean): Effect.Effect<void> =>
  Effect.sync(() => {
    // This process hands the connections over in turn. Where the workers accept by themselves, the system prefers those
    // that are awake, and a connection that waits for a worker is lost with it.
    cluster.schedulingPolicy = cluster.SCHED_RR
    cluster.setupPrimary({ stdio: ["ignore", toTerminal ? "inherit" : "pipe", "inherit", "ipc"] })
    process.stdout.on("error", () => undefined)
    // A worker that hangs would not notice that this process is gone.
    process.on("exit", () => {
      for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill("SIGKILL")
    })
  })

const adminPortOf = (message: unknown): number | undefined =>
  Predicate.hasProperty(message, "adminPort") && typeof message.adminPort === "number" ? message.adminPort : undefined

/** Starts a worker. It ends with this process, however that ends. */
export const launch = (number: number, env: Readonly<Record<string, string>>): Effect.Effect<WorkerProcess> =>
  Effect.sync(() => {
    const worker = cluster.fork(env)
    const it: WorkerProcess = {
      number,
      worker,
      ready: Deferred.makeUnsafe(),
      ended: Deferred.makeUnsafe(),
      adminPort: undefined,
      metrics: new Map()
    }
    const end = (end: End) => Deferred.doneUnsafe(it.ended, Effect.succeed(end))
    worker.on("message", (message) => {
      it.adminPort = adminPortOf(message) ?? it.adminPort
    })
    worker.once("listening", () => Deferred.doneUnsafe(it.ready, Effect.void))
    worker.once("exit", (code, signal) => end({ code, signal }))
    worker.once("error", () => end({ code: null, signal: null }))
    if (worker.process.stdout !== null) copyLines(worker.process.stdout, process.stdout)
    return it
  })

/** The longest that somebody who asks for all waits for one worker. */
const answerMs = 2_000

/** Asks a worker's private listener. No reply where it has none, or is too busy. */
export const ask = ({ adminPort, number }: WorkerProcess, path: string) =>
  Effect.tryPromise(async () => {
    const signal = AbortSignal.timeout(answerMs)
    const response = await fetch(`http://127.0.0.1:${adminPort}${path}`, { signal })
    return { number, reply: { status: response.status, text: await response.text() } }
  }).pipe(Effect.orElseSucceed(() => ({ number, reply: undefined })))
