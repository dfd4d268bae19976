import { Clock, type Context, Deferred, Effect } from "effect"
import { FairQueue, type QueueLimits } from "../../domain/fairness/FairQueue.ts"
import type { Payer } from "../../domain/fairness/Payers.ts"

/** A second condition for work to start, such as a limit of the host it is sent to. */
export interface Gate {
  /** The time in milliseconds from which work may enter. Infinite: after other work has left. */
  readonly opensAt: (now: number) => number
  readonly enter: (now: number) => void
  readonly leave: () => void
}

export interface FairSlotsOptions<E> {
  /** Per process. */
  readonly slots: number
  /** Slots that one account may hold. Unlimited by default. */
  readonly slotsPerAccount?: number | undefined
  readonly waiting: QueueLimits
  /** The error of work that is dropped because too much is waiting. */
  readonly full: E
}

export interface Slot {
  /** The account that the slot was given to. */
  readonly accountId: string
  /** Call it once. The more an account's work cost, the later its next turn. */
  readonly giveBack: (costMs: number) => Effect.Effect<void>
}

export interface Wanted {
  readonly payer: Payer
  readonly gate?: Gate | undefined
  /** Memory that waiting work holds. */
  readonly bytes?: number | undefined
}

interface Turn<E> extends Wanted {
  readonly granted: Deferred.Deferred<string, E>
  readonly places: Map<string, Place<E>>
  accountId: string | undefined
}

/** Of a turn in the queue of one of its accounts. */
interface Place<E> {
  readonly turn: Turn<E>
  readonly accountId: string
}

/**
 * Shares the few slots of a process between accounts. A free slot goes to the account whose work has taken the least
 * time so far (`FairQueue`). Work whose gate is closed holds no slot and does not hold up other work.
 */
export class FairSlots<E> {
  readonly #options: FairSlotsOptions<E>
  readonly #queue: FairQueue<Place<E>>
  #free: number
  #wakesAt = Number.POSITIVE_INFINITY

  constructor(options: FairSlotsOptions<E>) {
    this.#options = options
    this.#free = options.slots
    this.#queue = new FairQueue(options.waiting, options.slotsPerAccount)
  }

  /** Places in queues. Work that several accounts wait for has a place in the queue of each. */
  get waiting(): number {
    return this.#queue.size
  }

  /** Runs work in a slot, whose cost is the time that the work takes. */
  readonly inSlot =
    (payer: Payer, gate?: Gate) =>
    <A, E2, R>(work: Effect.Effect<A, E2, R>): Effect.Effect<A, E | E2, R> =>
      Effect.uninterruptibleMask((restore) =>
        Effect.gen({ self: this }, function* () {
          const slot = yield* restore(this.take({ payer, gate }))
          const startedAt = yield* Clock.currentTimeMillis
          return yield* Effect.onExit(restore(work), () =>
            Effect.flatMap(Clock.currentTimeMillis, (now) => slot.giveBack(now - startedAt))
          )
        })
      )

  /** Waits for a slot. Interruption gives up the place, or the slot. */
  take(wanted: Wanted): Effect.Effect<Slot, E> {
    return Effect.contextWith((context: Context.Context<never>) => {
      const turn: Turn<E> = { ...wanted, granted: Deferred.makeUnsafe(), places: new Map(), accountId: undefined }
      const { payer } = wanted
      const follow = (): void => this.#follow(turn, typeof payer === "string" ? [payer] : payer.ids)
      const dispatch = Effect.runForkWith(context)
      const stop =
        typeof payer === "string"
          ? undefined
          : payer.onChange(() => {
              follow()
              dispatch(this.#dispatch)
            })
      follow()
      return Effect.andThen(this.#dispatch, Deferred.await(turn.granted)).pipe(
        Effect.map((accountId): Slot => ({ accountId, giveBack: (costMs) => this.#giveBack(turn, accountId, costMs) })),
        Effect.onInterrupt(() => {
          if (turn.accountId !== undefined) return this.#giveBack(turn, turn.accountId, 0)
          this.#follow(turn, [])
          return Effect.void
        }),
        Effect.ensuring(Effect.sync(() => stop?.()))
      )
    })
  }

  /** Lets a turn wait in the queues of these accounts, and in no others. */
  #follow(turn: Turn<E>, accountIds: ReadonlyArray<string>): void {
    if (turn.accountId !== undefined) return
    for (const [id, place] of turn.places) {
      if (accountIds.includes(id)) continue
      turn.places.delete(id)
      this.#queue.remove(id, place)
    }
    for (const accountId of accountIds) {
      if (turn.places.has(accountId)) continue
      const place = { turn, accountId }
      turn.places.set(accountId, place)
      for (const dropped of this.#queue.offer(accountId, place, turn.bytes ?? 0)) this.#drop(dropped)
    }
  }

  #drop({ accountId, turn }: Place<E>): void {
    turn.places.delete(accountId)
    if (turn.places.size === 0) Deferred.doneUnsafe(turn.granted, Effect.fail(this.#options.full))
  }

  #giveBack({ gate }: Turn<E>, accountId: string, costMs: number): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.#queue.finish(accountId, costMs)
      this.#free++
      gate?.leave()
      return this.#dispatch
    })
  }

  readonly #dispatch: Effect.Effect<void> = Effect.flatMap(Clock.currentTimeMillis, (now) => {
    let opensAt = Number.POSITIVE_INFINITY
    const waitOf = ({ turn: { gate } }: Place<E>): number => {
      const at = gate?.opensAt(now) ?? now
      if (at <= now) return 0
      opensAt = Math.min(opensAt, at)
      return Number.POSITIVE_INFINITY
    }
    while (this.#free > 0) {
      const next = this.#queue.take(waitOf)
      if (next === undefined) return this.#wakeAt(opensAt, now)
      this.#grant(next.item, now)
    }
    return Effect.void
  })

  #grant({ accountId, turn }: Place<E>, now: number): void {
    this.#free--
    turn.places.delete(accountId)
    this.#follow(turn, [])
    turn.accountId = accountId
    turn.gate?.enter(now)
    Deferred.doneUnsafe(turn.granted, Effect.succeed(accountId))
  }

  /** Nothing else may happen until a gate opens that only waits for time to pass. */
  #wakeAt(at: number, now: number): Effect.Effect<void> {
    if (at >= this.#wakesAt) return Effect.void
    this.#wakesAt = at
    const wake = Effect.suspend(() => {
      if (this.#wakesAt === at) this.#wakesAt = Number.POSITIVE_INFINITY
      return this.#dispatch
    })
    return Effect.asVoid(Effect.forkDetach(Effect.delay(wake, at - now)))
  }
}
