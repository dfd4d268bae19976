import { Clock, Context, Duration, Effect, Fiber, type Scope } from "effect"

/**
 * The end of a wait, in milliseconds of the monotonic clock. All parts of a search share one deadline; with separate
 * timeouts, the order in which they end would be random.
 */
export type Deadline = number

const monotonicMs = (clock: Clock.Clock): Deadline => Number(clock.monotonicTimeNanosUnsafe()) / 1e6

export const deadlineIn = (clock: Clock.Clock, ms: number): Deadline => monotonicMs(clock) + ms

/** Milliseconds until the deadline; 0 if it has passed. */
export const msUntil = (clock: Clock.Clock, deadline: Deadline): number => Math.max(0, deadline - monotonicMs(clock))

interface Timer {
  readonly at: Deadline
  /**
   * Undefined after it was called or cancelled. A frequently changed `Set` leaves old tables behind, which would keep
   * everything that the callback references until the next major garbage collection.
   */
  expire: (() => void) | undefined
}

/** One fiber sleeps until the next deadline. `Effect.timeout` would run two fibers per wait. */
export class Deadlines {
  /** Unordered, because most timers are cancelled and scans are rare. */
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

  after(ms: number): Deadline {
    return deadlineIn(this.clock, ms)
  }

  isPast(deadline: Deadline): boolean {
    return monotonicMs(this.clock) >= deadline
  }

  /** Calls `expire` at the deadline. Returns a function that cancels the timer. */
  callAt(deadline: Deadline, expire: () => void): () => void {
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
   * Runs an effect in its own fiber and interrupts it at the deadline. Then `late` runs at once, because the effect may
   * ignore the interruption; its argument waits for the fiber to end.
   */
  until<A, E, R, B, F>(
    effect: Effect.Effect<A, E, R>,
    deadline: Deadline,
    late: (ended: Effect.Effect<void>) => Effect.Effect<B, F>
  ): Effect.Effect<A | B, E | F, R> {
    return this.untilMoving(() => effect, deadline, late)
  }

  /** `until` for an effect that can move its own deadline. */
  untilMoving<A, E, R, B, F>(
    run: (move: (deadline: Deadline) => void) => Effect.Effect<A, E, R>,
    deadline: Deadline,
    late: (ended: Effect.Effect<void>) => Effect.Effect<B, F>
  ): Effect.Effect<A | B, E | F, R> {
    return Effect.contextWith((context: Context.Context<R>) =>
      Effect.callback<A | B, E | F>((resume) => {
        let current = deadline
        let cancel = (): void => undefined
        let isArmed = false
        const arm = () => {
          cancel()
          cancel = this.callAt(current, () => {
            isArmed = false
            unobserve()
            fiber.interruptUnsafe()
            resume(late(Fiber.await(fiber)))
          })
        }
        const effect = run((deadline) => {
          if (deadline === current) return
          current = deadline
          if (isArmed) arm()
        })
        const fiber = Effect.runForkWith(context)(effect)
        const end = fiber.pollUnsafe()
        if (end !== undefined) return resume(end)
        const unobserve = fiber.addObserver((exit) => {
          isArmed = false
          cancel()
          resume(exit)
        })
        isArmed = true
        arm()
        return Effect.suspend(() => {
          isArmed = false
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
    const ms = Math.ceil(msUntil(this.clock, at))
    const fiber = this.run(Effect.flatMap(this.clock.sleep(Duration.millis(ms)), () => Effect.sync(() => this.wake())))
    // A clock may return at once from sleeping 0 ms.
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
