import { Worker } from "node:worker_threads"
import { Deferred, Effect } from "effect"
import type { ParseJob, ParseReply } from "./messages.ts"

/** Unpacked PDF streams are outside V8's heap, so they are monitored separately. */
const limits = {
  heapMiB: 256,
  youngMiB: 32,
  stackMiB: 4,
  externalBytes: 256 * 1024 * 1024,
  watchMs: 50
}

export interface Ended {
  readonly ended: "memory" | "crashed"
}

export interface ParserThread {
  /** The job's bytes are transferred to the thread. */
  readonly run: (job: ParseJob) => Effect.Effect<ParseReply | Ended>
  readonly stop: Effect.Effect<void>
  readonly isRunning: () => boolean
}

const isOutOfMemory = (error: Error): boolean => "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY"

const make = (ready: Deferred.Deferred<boolean>): ParserThread => {
  const worker = new Worker(new URL("./threadProgram.ts", import.meta.url), {
    env: {},
    execArgv: [],
    stdin: false,
    stdout: true,
    stderr: true,
    resourceLimits: {
      maxOldGenerationSizeMb: limits.heapMiB,
      maxYoungGenerationSizeMb: limits.youngMiB,
      stackSizeMb: limits.stackMiB
    }
  })
  let running = true
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
  worker.on("message", (message: ParseReply | "ready") => {
    if (message === "ready") Deferred.doneUnsafe(ready, Effect.succeed(true))
    else settle(message)
  })
  worker.on("error", (error) => end(isOutOfMemory(error) ? "memory" : "crashed"))
  worker.on("exit", () => end("crashed"))
  const watch = () =>
    worker.getHeapStatistics().then(
      ({ external_memory }) => {
        if (external_memory <= limits.externalBytes) return
        end("memory")
        void worker.terminate()
      },
      () => undefined
    )
  return {
    run: (job) =>
      Effect.suspend(() => {
        const reply = Deferred.makeUnsafe<ParseReply | Ended>()
        pending = reply
        if (!running) end("crashed")
        const timer = setInterval(watch, limits.watchMs)
        worker.postMessage(job, [job.bytes.buffer as ArrayBuffer])
        return Effect.ensuring(
          Deferred.await(reply),
          Effect.sync(() => clearInterval(timer))
        )
      }),
    stop: Effect.sync(() => {
      running = false
      void worker.terminate()
    }),
    isRunning: () => running
  }
}

/** Starts a thread and waits until it is ready. Undefined if it ended first. */
export const startThread: Effect.Effect<ParserThread | undefined> = Effect.suspend(() => {
  const ready = Deferred.makeUnsafe<boolean>()
  const thread = make(ready)
  return Effect.map(Deferred.await(ready), (isReady) => (isReady ? thread : undefined))
})
