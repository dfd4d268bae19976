import { fork } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { Effect } from "effect"
import type { Job, Outcome } from "./Job.ts"

const program = fileURLToPath(new URL("loader.ts", import.meta.url))

export interface Load {
  readonly run: (job: Job) => Effect.Effect<Outcome>
}

/** The process that makes the load, which lives as long as the scope. */
export const start = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => fork(program, { execArgv: [] })),
    (child) => Effect.sync(() => child.kill("SIGKILL"))
  ),
  (child): Load => ({
    run: (job) =>
      Effect.promise(async () => {
        child.send(job)
        const [outcome] = await Promise.race([
          once(child, "message"),
          once(child, "exit").then(() => Promise.reject(new Error("the load generator has ended")))
        ])
        return outcome as Outcome // What the program sends, and nothing else does.
      })
  })
)
