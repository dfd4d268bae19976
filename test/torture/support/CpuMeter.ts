import { closeSync, openSync, readdirSync, readSync } from "node:fs"
import { Effect } from "effect"

/** Reads between two looks for new threads: Node starts most of its threads with the process. */
const readsPerLook = 64

/**
 * Reads the CPU time that a process has used, in milliseconds, with all its threads: the kernel counts it in nanoseconds
 * for each thread (`schedstat`), while `stat` has steps of 10 ms. What other processes use is not in it.
 */
export const make = (pid: number) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => new Map<string, { readonly file: number; nanoseconds: number }>()),
      (threads) =>
        Effect.sync(() => {
          for (const { file } of threads.values()) closeSync(file)
        })
    ),
    (threads) => {
      const buffer = Buffer.alloc(128)
      let reads = 0
      const look = (): void => {
        for (const id of readdirSync(`/proc/${pid}/task`))
          if (!threads.has(id))
            threads.set(id, { file: openSync(`/proc/${pid}/task/${id}/schedstat`, "r"), nanoseconds: 0 })
      }
      return (): number => {
        if (reads++ % readsPerLook === 0) look()
        let sum = 0
        for (const thread of threads.values()) {
          try {
            thread.nanoseconds = Number(
              buffer.toString("latin1", 0, readSync(thread.file, buffer, 0, 128, 0)).split(" ")[0]
            )
          } catch {
            // The thread has ended, and keeps its count.
          }
          sum += thread.nanoseconds
        }
        return sum / 1_000_000
      }
    }
  )
