import { Clock, Deferred, Effect } from "effect"
import { FairQueue } from "../../domain/pages/FairQueue.ts"

/** Per process. Each fetch can take 10 MiB of memory. */
const maxRunning = 64

const maxWaiting = { items: 1_000, bytes: Number.POSITIVE_INFINITY }

interface Turn<E> {
  readonly granted: Deferred.Deferred<void, E>
  isGranted: boolean
}

/** An account with slow sites delays only its own pages. */
export class FetchSlots<E> {
  private readonly waiting = new FairQueue<Turn<E>>(maxWaiting)
  private readonly full: E
  private free = maxRunning

  constructor(full: E) {
    this.full = full
  }

  readonly inSlot =
    (accountId: string) =>
    <A, R>(fetch: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      Effect.uninterruptibleMask((restore) =>
        Effect.gen({ self: this }, function* () {
          yield* restore(this.take(accountId))
          const startedAt = yield* Clock.currentTimeMillis
          return yield* Effect.onExit(restore(fetch), () =>
            Effect.map(Clock.currentTimeMillis, (now) => this.giveBack(accountId, now - startedAt))
          )
        })
      )

  private take(accountId: string): Effect.Effect<void, E> {
    return Effect.suspend(() => {
      const turn: Turn<E> = { granted: Deferred.makeUnsafe(), isGranted: false }
      for (const out of this.waiting.offer(accountId, turn, 0)) Deferred.doneUnsafe(out.granted, Effect.fail(this.full))
      this.dispatch()
      return Effect.onInterrupt(Deferred.await(turn.granted), () =>
        Effect.sync(() => {
          if (turn.isGranted) this.giveBack(accountId, 0)
          else this.waiting.remove(accountId, turn)
        })
      )
    })
  }

  private giveBack(accountId: string, tookMs: number): void {
    this.waiting.finish(accountId, tookMs)
    this.free++
    this.dispatch()
  }

  private dispatch(): void {
    while (this.free > 0) {
      const next = this.waiting.take()
      if (next === undefined) return
      this.free--
      next.item.isGranted = true
      Deferred.doneUnsafe(next.item.granted, Effect.void)
    }
  }
}
