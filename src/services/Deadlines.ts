import { Clock, Context, Duration, Effect, Fiber, type Scope } from "effect"

/** Something that happens when its time has come, unless it is called off before. */
interface Deadline {
  /** On the monotonic clock, in milliseconds. */
  readonly at: number
  readonly pass: () => void
}

/**
 * The deadlines of many waits, kept by one fiber that sleeps until the next. `Effect.timeout` would run two fibers for
 * each wait, and interrupt and await one of them.
 */
export class Deadlines {
  /** In no order: most are called off, so that looking through all of them is rare. */
  private readonly pending = new Set<Deadline>()
  private readonly clock: Clock.Clock
  private readonly run: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
  private sleeper: { readonly until: number; readonly fiber: Fiber.Fiber<void> } | undefined

  private constructor(context: Context.Context<never>) {
    this.clock = Context.get(context, Clock.Clock)
    this.run = Effect.runForkWith(context)
  }

  static readonly make: Effect.Effect<Deadlines, never, Scope.Scope> = Effect.acquireRelease(
    Effect.map(Effect.context<never>(), (context) => new Deadlines(context)),
    (deadlines) => Effect.sync(() => deadlines.sleeper?.fiber.interruptUnsafe())
  )

  /** Calls `pass` in `ms` milliseconds. Answers what calls that off. */
  after(ms: number, pass: () => void): () => void {
    const deadline = { at: this.now() + ms, pass }
    this.pending.add(deadline)
    this.wakeBy(deadline.at)
    return () => {
      this.pending.delete(deadline)
    }
  }

  /**
   * Runs an effect in a fiber of its own, which is interrupted after `ms` milliseconds. Then `late` answers. It is given
   * the wait for that fiber's end, and mostly leaves it: an effect may ignore its interruption.
   */
  within<A, E, R, B, F>(
    effect: Effect.Effect<A, E, R>,
    ms: number,
    late: (ended: Effect.Effect<void>) => Effect.Effect<B, F>
  ): Effect.Effect<A | B, E | F, R> {
    return Effect.contextWith((context: Context.Context<R>) =>
      Effect.callback<A | B, E | F>((resume) => {
        const fiber = Effect.runForkWith(context)(effect)
        const end = fiber.pollUnsafe()
        if (end !== undefined) return resume(end)
        const stop = fiber.addObserver((exit) => {
          callOff()
          resume(exit)
        })
        const callOff = this.after(ms, () => {
          stop()
          fiber.interruptUnsafe()
          resume(late(Fiber.await(fiber)))
        })
        return Effect.suspend(() => {
          callOff()
          return Fiber.interrupt(fiber)
        })
      })
    )
  }

  private now(): number {
    return Number(this.clock.monotonicTimeNanosUnsafe()) / 1e6
  }

  private wakeBy(at: number): void {
    if (this.sleeper !== undefined && this.sleeper.until <= at) return
    this.sleeper?.fiber.interruptUnsafe()
    this.sleeper = undefined
    const ms = Math.max(0, Math.ceil(at - this.now()))
    const fiber = this.run(Effect.flatMap(this.clock.sleep(Duration.millis(ms)), () => Effect.sync(() => this.wake())))
    // Where no time is left the clock may not sleep at all.
    if (fiber.pollUnsafe() === undefined) this.sleeper = { until: at, fiber }
  }

  private wake(): void {
    this.sleeper = undefined
    const now = this.now()
    let next = Number.POSITIVE_INFINITY
    for (const deadline of this.pending) {
      if (deadline.at > now) {
        next = Math.min(next, deadline.at)
      } else {
        this.pending.delete(deadline)
        deadline.pass()
      }
    }
    if (this.pending.size > 0) this.wakeBy(next)
  }
}
