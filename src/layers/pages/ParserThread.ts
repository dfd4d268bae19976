import { setFlagsFromString } from "node:v8"
import { Worker, type WorkerOptions } from "node:worker_threads"
import { Deferred, Effect } from "effect"
import type { ParseJob, ParseReply, ThreadMessage } from "./messages.ts"

/** Unpacked PDF streams are outside V8's heap, so they are monitored separately. */
const limits = {
  heapMiB: 72,
  youngMiB: 8,
  stackMiB: 4,
  externalBytes: 64 * 1024 * 1024,
  /** A thread with a larger heap after a document is replaced, because an idle heap does not shrink. */
  keptHeapBytes: 64 * 1024 * 1024,
  /** Of CPU time for one document (R83). A busy machine makes a document late, not too large. */
  cpuMs: 5_000,
  watchMs: 50
}

export interface Ended {
  readonly ended: "time" | "memory" | "crashed"
}

export interface ParserThread {
  /** The job's bytes are transferred to the thread. */
  readonly run: (job: ParseJob) => Effect.Effect<ParseReply | Ended>
  /** Waits until the thread's memory is free. */
  readonly stop: Effect.Effect<void>
  /** CPU time of the current or last job, at most 50 ms old while the job runs. */
  readonly jobCpuMs: () => number
  readonly isRunning: () => boolean
}

const { NODE_COMPILE_CACHE } = process.env

const workerOptions: WorkerOptions = {
  // Compiling its modules takes a thread 0.2 s of CPU time and 20 MiB more than loading compiled code.
  env: NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE },
  execArgv: [],
  stdin: false,
  stdout: true,
  stderr: true,
  resourceLimits: {
    maxOldGenerationSizeMb: limits.heapMiB,
    maxYoungGenerationSizeMb: limits.youngMiB,
    stackSizeMb: limits.stackMiB
  }
}

const isOutOfMemory = (error: Error): boolean => "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY"

/** Flags of the process, which `npm start` has, override the limits of its threads. They no longer affect its own heap. */
const clearHeapFlags = () => {
  setFlagsFromString("--max-old-space-size=0")
  setFlagsFromString("--max-semi-space-size=0")
}

const make = (ready: Deferred.Deferred<boolean>): ParserThread => {
  clearHeapFlags()
  const worker = new Worker(new URL("./threadProgram.ts", import.meta.url), workerOptions)
  let running = true
  /** CPU time of the thread: now, and when the job started. */
  let usedMs = 0
  let usedBeforeMs = 0
  let pending: Deferred.Deferred<ParseReply | Ended> | undefined
  const settle = (outcome: ParseReply | Ended) => {
    if (pending !== undefined) Deferred.doneUnsafe(pending, Effect.succeed(outcome))
    pending = undefined
  }
  const end = (ended: Ended["ended"]) => {
    running = false
    Deferred.doneUnsafe(ready, Effect.succeed(false))
    settle({ ended })
  }
  // Lets the process exit while the thread is idle.
  worker.unref()
  worker.stdout.resume()
  worker.stderr.resume()
  worker.on("message", ({ cpuMs, heapBytes, reply }: ThreadMessage) => {
    usedMs = cpuMs
    // First, because the code that waits for the reply runs at once and returns the thread to the pool.
    if (heapBytes > limits.keptHeapBytes) void stop()
    if (reply === undefined) Deferred.doneUnsafe(ready, Effect.succeed(true))
    else settle(reply)
  })
  worker.on("error", (error) => end(isOutOfMemory(error) ? "memory" : "crashed"))
  worker.on("exit", () => end("crashed"))
  const stop = () => {
    running = false
    return worker.terminate()
  }
  const kill = (ended: Ended["ended"]) => {
    end(ended)
    void stop()
  }
  const watch = () =>
    Promise.all([worker.getHeapStatistics(), worker.cpuUsage()]).then(
      ([{ external_memory }, { system, user }]) => {
        if (pending === undefined) return
        usedMs = Math.max(usedMs, (system + user) / 1000)
        if (external_memory > limits.externalBytes) kill("memory")
        else if (usedMs - usedBeforeMs > limits.cpuMs) kill("time")
      },
      () => undefined
    )
  return {
    run: (job) =>
      Effect.suspend(() => {
        const reply = Deferred.makeUnsafe<ParseReply | Ended>()
        pending = reply
        usedBeforeMs = usedMs
        if (!running) end("crashed")
        const timer = setInterval(watch, limits.watchMs)
        worker.postMessage(job, [job.bytes.buffer])
        return Effect.ensuring(
          Deferred.await(reply),
          Effect.sync(() => clearInterval(timer))
        )
      }),
    stop: Effect.promise(stop),
    jobCpuMs: () => usedMs - usedBeforeMs,
    isRunning: () => running
  }
}

/** Starts a thread and waits until it is ready. Undefined if it ended first. */
export const startThread: Effect.Effect<ParserThread | undefined> = Effect.suspend(() => {
  const ready = Deferred.makeUnsafe<boolean>()
  const thread = make(ready)
  return Effect.map(Deferred.await(ready), (isReady) => (isReady ? thread : undefined))
})
