import { Data, Duration, Effect, PartitionedSemaphore } from "effect"

/** A hash takes 0.1 s of CPU, 32 MB, and one of four worker threads, which also resolve names and read files. */
const limits = {
  hashes: 2,
  waiting: 200,
  wait: Duration.seconds(10)
}

export class HashesBusy extends Data.TaggedError("HashesBusy")<{ readonly retryAfterSeconds: number }> {}

const busy = new HashesBusy({ retryAfterSeconds: Duration.toSeconds(limits.wait) })

/** Clients alternate, so that a client with many requests waits only for itself. */
export const makePasswordSlots = Effect.map(
  PartitionedSemaphore.make<string>({ permits: limits.hashes }),
  (semaphore) => {
    let waiting = 0

    /** Runs a hash in a slot of the client. Fails if no slot is free in time. */
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
