import { Cache, Context, Duration, Effect, Exit, Layer } from "effect"
import { StoreClock, storeTime } from "../StoreClock.ts"
import { type MinuteCounts, OperatorLog } from "./OperatorLog.ts"

const hourMs = 3_600_000
const hours = 24

/** An hour is read once more after its end, when the last entries of its searches are visible. */
const marginMs = 300_000

/** Several open pages share a reading of the present hour. */
const freshFor = Duration.seconds(2)

/** Limits what a page takes of the database while it opens. */
const readTogether = 3

/** Searches, credits, errors and latency of all accounts by minute, for the last 24 hours. */
export class MinuteSeries extends Context.Service<
  MinuteSeries,
  {
    /** From this time (Unix milliseconds), by time, without minutes that had no search. Undefined: 24 hours. */
    readonly since: (at: number | undefined) => Effect.Effect<ReadonlyArray<MinuteCounts>>
  }
>()("quarry/services/operations/MinuteSeries") {
  static readonly layer = Layer.effect(
    MinuteSeries,
    Effect.gen(function* () {
      const log = yield* OperatorLog
      const clock = yield* StoreClock
      /** Hours that are over do not change, so that only the present hour is read again. */
      const cache = yield* Cache.makeWith(
        (hour: number) =>
          Effect.gen(function* () {
            const now = yield* storeTime(clock)
            return { minutes: yield* log.minutes(hour, hour + hourMs), isOver: now >= hour + hourMs + marginMs }
          }),
        {
          capacity: hours + 2,
          timeToLive: (exit) => (Exit.isSuccess(exit) && exit.value.isOver ? Duration.infinity : freshFor)
        }
      )
      return MinuteSeries.of({
        since: Effect.fnUntraced(function* (at) {
          const now = yield* storeTime(clock)
          const from = Math.max(at ?? 0, now - hours * hourMs)
          const first = Math.floor(from / hourMs)
          const count = Math.max(0, Math.floor(now / hourMs) - first + 1)
          const read = yield* Effect.forEach(
            Array.from({ length: count }, (_, index) => (first + index) * hourMs),
            (hour) => Cache.get(cache, hour),
            { concurrency: readTogether }
          )
          return read.flatMap(({ minutes }) => minutes).filter((minute) => minute.at >= from)
        })
      })
    })
  )
}
