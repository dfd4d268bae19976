import { fork } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { Effect } from "effect"
import type { Job, Outcome } from "./Job.ts"

const program = fileURLToPath(new URL("loader.ts", import.meta.url))

export interface Load {
  readonly run: (job: Job) => Effect.Effect<Outcome>
}

/** Starts the load generator's process. It stops when the scope closes. */
export const start = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => fork(program, { execArgv: [] })),
    (child) => Effect.sync(() => child.kill("SIGKILL"))
  ),
  (child): Load => {
    const ended = once(child, "exit").then(() => Promise.reject(new Error("the load generator has ended")))
    // Prevents an unhandled rejection when the scope stops the process while no job is waiting.
    ended.catch(() => undefined)
    return {
      run: (job) =>
        Effect.promise(async () => {
          // The cast holds because the program sends only outcomes.
          const answer = new Promise<Outcome>((resolve) =>
            child.once("message", (message) => resolve(message as Outcome))
          )
          child.send(job)
          return Promise.race([answer, ended])
        })
    }
  }
)
