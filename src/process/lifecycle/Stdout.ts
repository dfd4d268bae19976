import type { Writable } from "node:stream"
import { Predicate } from "effect"

/**
 * Reports failed writes to stdout, as on a full disk. Node's console ignores them, so a command could lose its result
 * and still exit with 0. A reader that stops early, such as `head`, is not an error.
 */
export const watch = (stdout: Writable, complain: (line: string) => void) => {
  let hasFailed = false
  stdout.on("error", (error) => {
    if (hasFailed || (Predicate.hasProperty(error, "code") && error.code === "EPIPE")) return
    hasFailed = true
    complain(`quarry: stdout cannot be written (${error.message}). Completed changes are kept.`)
  })
  return {
    /** Exits with `code`, or with 1 if a write failed. Node reports the last failure only after this turn. */
    end: (code: number, end: (code: number) => void) => setImmediate(() => end(hasFailed ? 1 : code))
  }
}
