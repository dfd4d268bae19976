import type { TestClock } from "./TestQuarry.ts"

interface Waiting {
  readonly at: number
  readonly callback: () => void
}

// Taken before a test runner can put its own timers in their place.
const nextTurn: (callback: () => void) => unknown = globalThis.setImmediate ?? globalThis.setTimeout

/** Turns of the event loop after which everything that can go on has gone on. A batch of 50 rows takes two. */
const turnsToSettle = 8

const settle = async (): Promise<void> => {
  for (let turn = 0; turn < turnsToSettle; turn++) await new Promise<void>((resolve) => nextTurn(resolve))
}

/** Moves in `run` after which a promise counts as one that never ends. */
const maxMoves = 100_000

/** A clock of whole milliseconds that stands still until it is moved, and then stops at each moment for which somebody waits. */
export class ManualClock implements TestClock {
  private nowMs: number
  private readonly waiting = new Set<Waiting>()

  constructor(nowMs: number) {
    this.nowMs = nowMs
  }

  readonly now = (): number => this.nowMs

  readonly after = (ms: number, callback: () => void): (() => void) => {
    const waiting = { at: this.nowMs + Math.max(0, Math.ceil(ms)), callback }
    this.waiting.add(waiting)
    return () => this.waiting.delete(waiting)
  }

  readonly sleep = (ms: number): Promise<void> => new Promise((resolve) => this.after(ms, resolve))

  readonly advance = async (ms: number): Promise<void> => {
    const end = this.nowMs + Math.ceil(ms)
    await settle()
    while (this.moveToNext(end)) await settle()
    this.nowMs = end
  }

  readonly run = async <A>(promise: Promise<A>): Promise<A> => {
    let isPending = true
    const end = () => {
      isPending = false
    }
    promise.then(end, end)
    await settle()
    for (let moves = 0; isPending; moves++) {
      if (moves > maxMoves || !this.moveToNext(Number.POSITIVE_INFINITY)) {
        throw new Error("The promise waits for something else than the test's clock.")
      }
      await settle()
    }
    return promise
  }

  /** Goes to the first moment until `end` for which somebody waits. False where there is none. */
  private moveToNext(end: number): boolean {
    let first: Waiting | undefined
    for (const waiting of this.waiting) if (waiting.at <= end && waiting.at < (first?.at ?? Infinity)) first = waiting
    if (first === undefined) return false
    this.waiting.delete(first)
    this.nowMs = Math.max(this.nowMs, first.at)
    first.callback()
    return true
  }
}
