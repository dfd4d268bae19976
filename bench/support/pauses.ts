import { appendFileSync } from "node:fs"
import { constants, type PerformanceEntry, PerformanceObserver } from "node:perf_hooks"
import { isMainThread } from "node:worker_threads"

/*
 * Loaded into a measured process by `--import`. Appends garbage collections and long turns of the event loop to the file
 * in BENCH_PAUSES_FILE, one JSON object per line. Times are Unix milliseconds.
 */

export interface Pause {
  /** A long turn of the event loop, a collection of new objects, or a stop of any other collection. */
  readonly kind: "turn" | "minor" | "other"
  readonly from: number
  readonly to: number
}

const timerMs = 1
/** Shorter turns are normal under load. */
const minTurnMs = 4
const flushMs = 500

const file = process.env.BENCH_PAUSES_FILE
if (isMainThread && file !== undefined) {
  let pauses: Array<Pause> = []
  const add = (kind: Pause["kind"], start: number, durationMs: number) => {
    const from = performance.timeOrigin + start
    pauses.push({ kind, from, to: from + durationMs })
  }
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      // Node's entries of type `gc` have a kind, which the general type does not declare.
      const { kind } = (entry as PerformanceEntry & { readonly detail: { readonly kind: number } }).detail
      add(kind === constants.NODE_PERFORMANCE_GC_MINOR ? "minor" : "other", entry.startTime, entry.duration)
    }
  }).observe({ entryTypes: ["gc"] })
  let last = performance.now()
  setInterval(() => {
    const now = performance.now()
    if (now - last >= minTurnMs) add("turn", last, now - last)
    last = now
  }, timerMs).unref()
  setInterval(() => {
    appendFileSync(file, pauses.map((pause) => `${JSON.stringify(pause)}\n`).join(""))
    pauses = []
  }, flushMs).unref()
}
