import { closeSync, openSync, readdirSync, readSync } from "node:fs"
import { Effect } from "effect"

/** Reads between two searches for new threads. Node starts most threads with the process. */
const readsPerSearch = 64

interface Thread {
  readonly file: number
  nanoseconds: number
}

/**
 * Makes a function that returns the CPU time of a process in milliseconds, over all its threads. The source is
 * `/proc/<pid>/task/<tid>/schedstat`, in nanoseconds; `/proc/<pid>/stat` has steps of 10 ms. The kernel updates the count
 * of a running thread at each tick (4 ms) and of a sleeping one at once.
 */
export const make = (pid: number) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => new Map<string, Thread>()),
      (threads) =>
        Effect.sync(() => {
          for (const { file } of threads.values()) closeSync(file)
        })
    ),
    (threads) => {
      const buffer = Buffer.alloc(128)
      let reads = 0
      const findThreads = (): void => {
        const tasks = `/proc/${pid}/task`
        for (const id of readdirSync(tasks).filter((id) => !threads.has(id)))
          threads.set(id, { file: openSync(`${tasks}/${id}/schedstat`, "r"), nanoseconds: 0 })
      }
      const read = (thread: Thread): number => {
        try {
          const text = buffer.toString("latin1", 0, readSync(thread.file, buffer, 0, buffer.length, 0))
          thread.nanoseconds = Number(text.split(" ", 1).join(""))
        } catch {
          // The thread has ended; its last count stays in the sum.
        }
        return thread.nanoseconds
      }
      return (): number => {
        if (reads++ % readsPerSearch === 0) findThreads()
        let sum = 0
        for (const thread of threads.values()) sum += read(thread)
        return sum / 1_000_000
      }
    }
  )
