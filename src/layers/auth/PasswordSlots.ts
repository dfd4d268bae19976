import { Data, Duration, Effect, PartitionedSemaphore } from "effect"

/**
 * A hash takes a tenth of a second of a core, 32 MB, and one of the four threads of the process that also resolve names
 * and read files: without bounds, guesses would take all of them.
 */
const limits = {
  /** Hashes that are computed at once. */
  hashes: 2,
  /** Hashes that wait for one of those to end. */
  waiting: 200,
  wait: Duration.seconds(10)
}

/** There is no room to hash a password now. */
export class HashesBusy extends Data.TaggedError("HashesBusy")<{ readonly retryAfterSeconds: number }> {}

const busy = new HashesBusy({ retryAfterSeconds: Duration.toSeconds(limits.wait) })

/** Gives passwords turns to be hashed. Clients take turns, so that those who send many wait for each other. */
export const makePasswordSlots = Effect.map(
  PartitionedSemaphore.make<string>({ permits: limits.hashes }),
  (semaphore) => {
    let waiting = 0

    /** Runs a computation in a turn of a client. Fails when none comes in time. */
    const run = <A>(client: string, hash: Effect.Effect<A>): Effect.Effect<A, HashesBusy> =>
      Effect.suspend(() => {
        if (waiting >= limits.waiting) return Effect.fail(busy)
        waiting++
        let isWaiting = true
        const stopWaiting = () => {
          if (isWaiting) waiting--
          isWaiting = false
        }
        const turn = semaphore.withPermit(client)(Effect.andThen(Effect.sync(stopWaiting), hash))
        const tooLate = Effect.flatMap(Effect.sleep(limits.wait), () => (isWaiting ? Effect.fail(busy) : Effect.never))
        return Effect.ensuring(Effect.raceFirst(turn, tooLate), Effect.sync(stopWaiting))
      })

    return { run }
  }
)

export type PasswordSlots = Effect.Success<typeof makePasswordSlots>
