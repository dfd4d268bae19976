import { Clock, Context, Duration, Effect, Fiber, type Scope } from "effect"

/**
 * The moment at which a wait ends, in milliseconds on the monotonic clock. A search has one deadline, which all parts of
 * it share. With a timeout of their own, it would be chance which part ends first.
 */
export type Deadline = number

const monotonicMs = (clock: Clock.Clock): Deadline => Number(clock.monotonicTimeNanosUnsafe()) / 1e6

/** The deadline of a wait that starts now. */
export const deadlineIn = (clock: Clock.Clock, ms: number): Deadline => monotonicMs(clock) + ms

/** Milliseconds until a deadline; 0 where it has passed. */
export const timeLeft = (clock: Clock.Clock, deadline: Deadline): number => Math.max(0, deadline - monotonicMs(clock))

interface Timer {
  readonly at: Deadline
  /**
   * Undefined once it was called or cancelled. A `Set` that changes often leaves old copies of its table behind, which
   * keep everything that their timers refer to until the next major collection.
   */
  expire: (() => void) | undefined
}

/**
 * Ends waits at their deadlines. One fiber sleeps until the next deadline of all. `Effect.timeout` would run two fibers
 * for each wait, and interrupt and await one of them.
 */
export class Deadlines {
  /** Unordered: most timers are cancelled, so that a scan for expired ones is rare. */
  private readonly timers = new Set<Timer>()
  private readonly clock: Clock.Clock
  private readonly run: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
  private sleeper: { readonly until: Deadline; readonly fiber: Fiber.Fiber<void> } | undefined

  private constructor(context: Context.Context<never>) {
    this.clock = Context.get(context, Clock.Clock)
    this.run = Effect.runForkWith(context)
  }

  static readonly make: Effect.Effect<Deadlines, never, Scope.Scope> = Effect.acquireRelease(
    Effect.map(Effect.context<never>(), (context) => new Deadlines(context)),
    (deadlines) => Effect.sync(() => deadlines.sleeper?.fiber.interruptUnsafe())
  )

  /** The deadline of a wait that starts now. */
  after(ms: number): Deadline {
    return deadlineIn(this.clock, ms)
  }

  /** Checks if a deadline has passed. */
  isPast(deadline: Deadline): boolean {
    return monotonicMs(this.clock) >= deadline
  }

  /** Calls `expire` at the deadline. Returns the function that cancels the timer. */
  at(deadline: Deadline, expire: () => void): () => void {
    const timer: Timer = { at: deadline, expire }
    this.timers.add(timer)
    this.wakeBy(deadline)
    return () => this.remove(timer)
  }

  private remove(timer: Timer): void {
    this.timers.delete(timer)
    timer.expire = undefined
  }

  /**
   * Runs an effect in a fiber of its own and interrupts it at the deadline. Then it returns the result of `late` at
   * once, because an effect may ignore its interruption. The argument of `late` waits for the fiber's end.
   */
  within<A, E, R, B, F>(
    effect: Effect.Effect<A, E, R>,
    deadline: Deadline,
    late: (ended: Effect.Effect<void>) => Effect.Effect<B, F>
  ): Effect.Effect<A | B, E | F, R> {
    return Effect.contextWith((context: Context.Context<R>) =>
      Effect.callback<A | B, E | F>((resume) => {
        const fiber = Effect.runForkWith(context)(effect)
        const end = fiber.pollUnsafe()
        if (end !== undefined) return resume(end)
        const unobserve = fiber.addObserver((exit) => {
          cancel()
          resume(exit)
        })
        const cancel = this.at(deadline, () => {
          unobserve()
          fiber.interruptUnsafe()
          resume(late(Fiber.await(fiber)))
        })
        return Effect.suspend(() => {
          cancel()
          return Fiber.interrupt(fiber)
        })
      })
    )
  }

  private wakeBy(at: Deadline): void {
    if (this.sleeper !== undefined && this.sleeper.until <= at) return
    this.sleeper?.fiber.interruptUnsafe()
    this.sleeper = undefined
    const ms = Math.ceil(timeLeft(this.clock, at))
    const fiber = this.run(Effect.flatMap(this.clock.sleep(Duration.millis(ms)), () => Effect.sync(() => this.wake())))
    // The fiber may have ended already, because a clock need not sleep for 0 ms.
    if (fiber.pollUnsafe() === undefined) this.sleeper = { until: at, fiber }
  }

  private wake(): void {
    this.sleeper = undefined
    const now = monotonicMs(this.clock)
    let next = Number.POSITIVE_INFINITY
    for (const timer of this.timers) {
      if (timer.at > now) {
        next = Math.min(next, timer.at)
      } else {
        const { expire } = timer
        this.remove(timer)
        expire?.()
      }
    }
    if (this.timers.size > 0) this.wakeBy(next)
  }
}
