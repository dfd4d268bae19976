import { type Context, Effect, type Exit, Fiber } from "effect"

/** "Single flight". */
export interface Flight<A, E, N> {
  readonly fiber: Fiber.Fiber<A, E>
  /** A note from the caller that started it, for callers that join. */
  readonly note: N
  waiters: number
}

/** A slot is cleared when it is removed, because old tables of the `Map` would keep the flight (see `Deadlines`). */
interface Slot<A, N> {
  // biome-ignore lint/suspicious/noExplicitAny: flights of one key may fail differently; waiters get an unknown error.
  flight: Flight<A, any, N> | undefined
}

export class Flights<A, N = undefined> {
  private readonly slots = new Map<string, Slot<A, N>>()

  find(key: string): Flight<A, unknown, N> | undefined {
    return this.slots.get(key)?.flight
  }

  /** Starts a run in its own fiber, so that it can outlive its caller. Add a waiter immediately. */
  start<E, R>(key: string, run: Effect.Effect<A, E, R>, context: Context.Context<R>, note: N): Flight<A, E, N> {
    const flight: Flight<A, E, N> = { fiber: Effect.runForkWith(context)(run), note, waiters: 0 }
    this.slots.set(key, { flight })
    flight.fiber.addObserver(() => this.remove(key, flight))
    return flight
  }

  /**
   * Adds a waiter and returns a function that removes it. Removing the last waiter interrupts the flight without
   * waiting for its end, because a server that ignores cancellation would delay the caller beyond its deadline.
   */
  addWaiter<E>(key: string, flight: Flight<A, E, N>, onExit: (exit: Exit.Exit<A, E>) => void): () => void {
    flight.waiters++
    const unobserve = flight.fiber.addObserver(onExit)
    return () => {
      unobserve()
      flight.waiters--
      if (flight.waiters > 0) return
      this.remove(key, flight)
      flight.fiber.interruptUnsafe()
    }
  }

  /** Waits for the end of a flight. Interruption removes the waiter. */
  waitFor<E>(key: string, flight: Flight<A, E, N>): Effect.Effect<Exit.Exit<A, E>> {
    return Effect.callback((resume) => Effect.sync(this.addWaiter(key, flight, (exit) => resume(Effect.succeed(exit)))))
  }

  readonly interruptAll: Effect.Effect<void> = Effect.suspend(() =>
    Fiber.interruptAll(Array.from(this.slots.values()).flatMap(({ flight }) => flight?.fiber ?? []))
  )

  /** Removes a flight that ended or lost its last waiter, so that the next caller starts another. */
  private remove(key: string, flight: Flight<A, unknown, N>): void {
    const slot = this.slots.get(key)
    if (slot?.flight !== flight) return
    this.slots.delete(key)
    slot.flight = undefined
  }
}

/** Shares a run among callers with the same key. It runs while at least one of them waits. */
export const share = <A, E, R>(flights: Flights<A>, key: string, run: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.contextWith((context: Context.Context<R>) => {
    // The cast: all runs of a key have the same type.
    const found = flights.find(key) as Flight<A, E, undefined> | undefined
    const flight = found ?? flights.start(key, run, context, undefined)
    return Effect.flatten(flights.waitFor(key, flight))
  })
