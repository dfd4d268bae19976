import type { Writable } from "node:stream"
import { Predicate } from "effect"

/**
 * Notices writes to stdout that fail, as on a full disk. Node's console ignores them, so that a command whose result is
 * lost would end with exit code 0. A reader that has left, such as `head`, has what it wanted and is no failure.
 */
export const watch = (stdout: Writable, complain: (line: string) => void) => {
  let hasFailed = false
  stdout.on("error", (error) => {
    if (hasFailed || (Predicate.hasProperty(error, "code") && error.code === "EPIPE")) return
    hasFailed = true
    complain(`quarry: stdout cannot be written (${error.message}). What was done stays done.`)
  })
  return {
    /** Ends with `code`, or with 1 where a write failed. Node reports the last write's failure only after this turn. */
    end: (code: number, end: (code: number) => void) => setImmediate(() => end(hasFailed ? 1 : code))
  }
}
