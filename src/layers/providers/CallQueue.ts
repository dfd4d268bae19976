import { Clock, type Context, Deferred, Effect, type Fiber, Option } from "effect"
import { FairQueue } from "../../domain/fairness/FairQueue.ts"
import { Refusal } from "../../domain/providers/Refusal.ts"
import { intervalMs, maxLatenessMs, type Pacer } from "../../services/providers/Pacer.ts"
import type { Turn } from "../../services/providers/Turn.ts"

/** More than a process can serve in time. Beyond it, the newest calls of the account with the most are refused. */
const maxWaiting = { items: 10_000, bytes: Number.POSITIVE_INFINITY }

interface PacedBy extends Pick<Pacer["Service"], "take"> {
  readonly name: string
  readonly perSecond: number
}

interface Waiter {
  readonly account: string
  readonly granted: Deferred.Deferred<void, Refusal>
  isGranted: boolean
}

/**
 * The calls that wait for one provider, shared fairly between accounts. Each process reserves one slot of the pace at a
 * time and decides only then whose call gets it, so that an account with many waiting calls does not own the next
 * minutes, and processes with waiting calls take turns.
 */
export class CallQueue {
  private readonly concurrency: number
  private readonly pace: PacedBy | undefined
  private readonly fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
  private readonly waiting = new FairQueue<Waiter>(maxWaiting)
  private inFlight = 0
  /** Hands out paced slots while calls wait. */
  private pacing: Fiber.Fiber<void> | undefined
  /** No slot begins before it. */
  private nextSlotAt = 0
  /** Until when at least one of the waiting calls would accept a slot. */
  private lastWaitEnd = 0

  constructor(concurrency: number, pace: PacedBy | undefined, context: Context.Context<never>) {
    this.concurrency = concurrency
    this.pace = pace
    this.fork = Effect.runForkWith(context)
  }

  expectedWaitMs(account: string, now: number): number {
    if (this.pace === undefined) return 0
    return Math.max(0, this.nextSlotAt - now) + this.waiting.ahead(account) * intervalMs(this.pace.perSecond)
  }

  inTurn<A, E>(turn: Turn, call: Effect.Effect<A, E | Refusal>): Effect.Effect<A, E | Refusal> {
    return Effect.suspend(() => {
      let isInFlight = false
      const sent = Effect.suspend(() => {
        if (!this.isFree) return this.inQueue(turn, call)
        isInFlight = true
        this.inFlight++
        return call
      })
      // Not a generator, because a waiting fiber keeps what is on its stack (docs/internals/design/lifecycle.md, Memory).
      return Effect.onExitPrimitive(sent, () => {
        if (isInFlight) this.leave(undefined, 0)
        return undefined
      })
    })
  }

  private get isFree(): boolean {
    return this.pace === undefined && this.waiting.size === 0 && this.inFlight < this.concurrency
  }

  private inQueue<A, E>(turn: Turn, call: Effect.Effect<A, E | Refusal>): Effect.Effect<A, E | Refusal> {
    return Effect.uninterruptibleMask((restore) =>
      Effect.gen({ self: this }, function* () {
        const waiter = yield* restore(this.enter(turn))
        const startedAt = yield* Clock.currentTimeMillis
        return yield* Effect.onExit(restore(call), () =>
          Effect.map(Clock.currentTimeMillis, (now) => this.leave(waiter, now - startedAt))
        )
      })
    )
  }

  private enter({ account, maxWaitMs }: Turn): Effect.Effect<Waiter, Refusal> {
    return Clock.clockWith((clock) => {
      const now = clock.currentTimeMillisUnsafe()
      const ms = maxWaitMs()
      if (this.expectedWaitMs(account, now) > ms) return Effect.fail(this.busy)
      const waiter: Waiter = { account, granted: Deferred.makeUnsafe(), isGranted: false }
      this.lastWaitEnd = Math.max(this.lastWaitEnd, now + ms)
      for (const out of this.waiting.offer(account, waiter, 0)) Deferred.doneUnsafe(out.granted, Effect.fail(this.busy))
      this.dispatch()
      return this.wait(waiter, ms)
    })
  }

  private wait(waiter: Waiter, ms: number): Effect.Effect<Waiter, Refusal> {
    const giveUp = () => {
      this.waiting.remove(waiter.account, waiter)
      if (this.waiting.size === 0) this.stopPacing()
    }
    // A slot at the very end of the wait still counts.
    return Effect.timeoutOption(Deferred.await(waiter.granted), ms + 1).pipe(
      Effect.flatMap((granted) => {
        // The slot may arrive just as the wait ends.
        if (Option.isSome(granted) || waiter.isGranted) return Effect.succeed(waiter)
        giveUp()
        return Effect.fail(this.busy)
      }),
      Effect.onInterrupt(() => Effect.sync(() => (waiter.isGranted ? this.leave(waiter, 0) : giveUp())))
    )
  }

  private leave(waiter: Waiter | undefined, tookMs: number): void {
    if (waiter !== undefined && this.pace === undefined) this.waiting.finish(waiter.account, tookMs)
    this.inFlight--
    this.dispatch()
  }

  private dispatch(): void {
    if (this.pace === undefined) {
      while (this.inFlight < this.concurrency && this.grantNext()) {}
    } else if (this.pacing === undefined && this.waiting.size > 0 && this.inFlight < this.concurrency) {
      this.startPacing(this.pace)
    }
  }

  private grantNext(): boolean {
    const next = this.waiting.take()
    if (next === undefined) return false
    this.inFlight++
    next.item.isGranted = true
    // An account pays for its slot of the pace, however long its call takes.
    if (this.pace !== undefined) this.waiting.finish(next.accountId, intervalMs(this.pace.perSecond))
    Deferred.doneUnsafe(next.item.granted, Effect.void)
    return true
  }

  private startPacing(pace: PacedBy): void {
    const fiber = this.fork(this.handOutSlots(pace))
    // It has ended already if the first slot was free.
    if (fiber.pollUnsafe() === undefined) this.pacing = fiber
  }

  private stopPacing(): void {
    this.pacing?.interruptUnsafe()
    this.pacing = undefined
    this.lastWaitEnd = 0
  }

  private handOutSlots({ name, perSecond, take }: PacedBy): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      while (this.waiting.size > 0 && this.inFlight < this.concurrency) {
        const startedAt = yield* Clock.currentTimeMillis
        const withinMs = Math.max(0, this.lastWaitEnd - startedAt)
        const waitMs = yield* take({ name, perSecond, withinMs })
        const slotAt = startedAt + (waitMs ?? withinMs)
        this.nextSlotAt = slotAt
        if (waitMs === undefined) this.refuseAll()
        else if (waitMs > 0) yield* Effect.sleep(waitMs)
        // Includes the time that the pacer, which may be Redis, took to respond.
        const latenessMs = (yield* Clock.currentTimeMillis) - slotAt
        this.nextSlotAt = slotAt + intervalMs(perSecond)
        if (latenessMs <= maxLatenessMs(perSecond)) this.grantNext()
      }
      this.pacing = undefined
    })
  }

  private refuseAll(): void {
    for (let next = this.waiting.take(); next !== undefined; next = this.waiting.take()) {
      this.waiting.finish(next.accountId, 0)
      Deferred.doneUnsafe(next.item.granted, Effect.fail(this.busy))
    }
  }

  private get busy(): Refusal {
    const limits = [
      ...(this.pace === undefined ? [] : [`${this.pace.perSecond} requests per second`]),
      `${this.concurrency} calls in flight`
    ]
    const message = `no slot is free in time within its limits in the provider file (${limits.join(", ")})`
    return new Refusal({ reason: "busy", message })
  }
}
