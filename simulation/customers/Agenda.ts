import { Clock, Context, Duration, Effect, type Exit, Scheduler } from "effect"

/** A future entry. `cancel` removes it from the agenda. */
export interface Appointment {
  cancel(): void
}

interface Entry extends Appointment {
  readonly at: number
  readonly order: number
  run: (() => void) | undefined
}

/** True if `a` precedes `b`. Within a millisecond, entries keep the order in which they were added. */
const isBefore = (a: Entry, b: Entry): boolean => a.at < b.at || (a.at === b.at && a.order < b.order)

/**
 * Simulated time. All future events are on one agenda, and the clock jumps from one entry to the next without waiting.
 * `ready` has the current work in order, so that a run depends only on its seed.
 */
export class Agenda {
  /** Unix milliseconds, always an integer. */
  now: number
  /** Number of entries run so far. */
  count = 0
  /**
   * Number of operations outside simulated time, such as statements of the embedded database. Time stops while there
   * are any.
   */
  outside = 0
  /** Number of operations in promises, such as in the library of `/mcp`. Time advances once all of them wait for it. */
  promises = 0
  private order = 0
  private readonly heap: Array<Entry> = []
  private ready: Array<() => void> = []
  private isDraining = false

  constructor(startAt: number) {
    this.now = startAt
  }

  at(time: number, run: () => void): Appointment {
    const entry: Entry = {
      at: Math.max(Math.ceil(time), this.now),
      order: this.order++,
      run,
      cancel: () => {
        entry.run = undefined
      }
    }
    this.push(entry)
    return entry
  }

  after(ms: number, run: () => void): Appointment {
    return this.at(this.now + ms, run)
  }

  makeReady(task: () => void): void {
    this.ready.push(task)
  }

  /** Runs everything that is ready, and everything that becomes ready. */
  drain(): void {
    if (this.isDraining) return
    this.isDraining = true
    try {
      while (this.ready.length > 0) {
        const tasks = this.ready
        this.ready = []
        for (const task of tasks) task()
      }
    } finally {
      this.isDraining = false
    }
  }

  /** Advances time until `end`, as long as `goesOn` returns true. */
  async runUntil(end: number, goesOn: () => boolean): Promise<void> {
    this.drain()
    while (goesOn()) {
      while (this.outside > 0) {
        await new Promise((resolve) => setImmediate(resolve))
        this.drain()
      }
      if (this.promises > 0) await this.settlePromises()
      const next = this.pop(end)
      if (next === undefined) break
      this.now = next.at
      this.count++
      next.run?.()
      this.drain()
    }
  }

  /** Runs promises until all of them wait for simulated time. */
  private async settlePromises(): Promise<void> {
    for (let quietTurns = 0; quietTurns < 2; quietTurns++) {
      await new Promise((resolve) => setImmediate(resolve))
      if (this.ready.length > 0) quietTurns = 0
      this.drain()
    }
  }

  private push(entry: Entry): void {
    const { heap } = this
    let index = heap.length
    heap.push(entry)
    while (index > 0) {
      const above = (index - 1) >> 1
      const parent = heap[above]
      if (parent === undefined || isBefore(parent, entry)) break
      heap[index] = parent
      index = above
    }
    heap[index] = entry
  }

  /** The next entry up to `end` that was not cancelled. */
  private pop(end: number): Entry | undefined {
    while (true) {
      const first = this.heap[0]
      if (first === undefined || first.at > end) return undefined
      const last = this.heap.pop()
      if (last !== undefined && last !== first) this.sink(last)
      if (first.run !== undefined) return first
    }
  }

  private sink(entry: Entry): void {
    const { heap } = this
    let index = 0
    while (true) {
      const left = 2 * index + 1
      const a = heap[left]
      if (a === undefined) break
      const b = heap[left + 1]
      const isRight = b !== undefined && isBefore(b, a)
      const child = isRight ? b : a
      if (isBefore(entry, child)) break
      heap[index] = child
      index = isRight ? left + 1 : left
    }
    heap[index] = entry
  }
}

/** Runs Effect's fibers on the agenda. */
export const schedulerOf = (agenda: Agenda): Scheduler.Scheduler => ({
  executionMode: "async",
  shouldYield: (fiber) => fiber.currentOpCount >= fiber.cache.maxOpsBeforeYield,
  makeDispatcher: () => ({
    scheduleTask: (task) => agenda.makeReady(task),
    flush: () => agenda.drain()
  })
})

const nanosPerMilli = 1_000_000

/**
 * The clock of one machine. `skewMs` is its error at a time, which grows if it drifts. Once `isOff` returns true,
 * sleeping fibers never wake up, as after a crash.
 */
export const clockOf = (
  agenda: Agenda,
  options: { readonly skewMs?: (now: number) => number; readonly isOff?: () => boolean } = {}
): Clock.Clock => {
  const { isOff = () => false, skewMs = () => 0 } = options
  const startedAt = agenda.now
  const millis = () => agenda.now + Math.round(skewMs(agenda.now))
  const nanos = () => BigInt(millis()) * BigInt(nanosPerMilli)
  const monotonic = () => BigInt((agenda.now - startedAt) * nanosPerMilli)
  return {
    currentTimeMillisUnsafe: millis,
    currentTimeMillis: Effect.sync(millis),
    currentTimeNanosUnsafe: nanos,
    currentTimeNanos: Effect.sync(nanos),
    monotonicTimeNanosUnsafe: monotonic,
    monotonicTimeNanos: Effect.sync(monotonic),
    sleep: (duration) =>
      Effect.callback<void>((resume) => {
        const ms = Duration.toMillis(duration)
        if (!Number.isFinite(ms)) return
        const appointment = agenda.after(ms, () => {
          if (!isOff()) resume(Effect.void)
        })
        return Effect.sync(() => appointment.cancel())
      })
  }
}

export const machineContext = (agenda: Agenda, clock: Clock.Clock): Context.Context<never> =>
  Context.make(Clock.Clock, clock).pipe(Context.add(Scheduler.Scheduler, schedulerOf(agenda)))

/** Runs an effect that does not wait for simulated time. */
export const exitNow = <A, E, R>(
  agenda: Agenda,
  effect: Effect.Effect<A, E, R>,
  context: Context.Context<R>
): Exit.Exit<A, E> => {
  let exit: Exit.Exit<A, E> | undefined
  Effect.runForkWith(context)(effect).addObserver((it) => {
    exit = it
  })
  agenda.drain()
  if (exit === undefined) throw new Error("this waits for something that is not ready")
  return exit
}
