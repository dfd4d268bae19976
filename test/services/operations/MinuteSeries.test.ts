import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { MinuteSeries } from "../../../src/services/operations/MinuteSeries.ts"
import { type MinuteCounts, OperatorLog } from "../../../src/services/operations/OperatorLog.ts"
import { StoreClock } from "../../../src/services/StoreClock.ts"

const hourMs = 3_600_000
const outcomes = { ok: 1, upstream_error: 0, upstream_timeout: 0, page_unreadable: 0 }

/** One search in the first minute of each hour. Notes the hours that are read. */
const withLog = <A, E>(use: (reads: Array<number>) => Effect.Effect<A, E, MinuteSeries>) => {
  const reads: Array<number> = []
  const log = Layer.mock(OperatorLog, {
    minutes: (from) =>
      Effect.sync((): ReadonlyArray<MinuteCounts> => {
        reads.push(from)
        return [{ at: from, searches: 1, credits: 1, outcomes, p50Ms: 1, p95Ms: 1 }]
      })
  })
  return TestClock.setTime(100 * hourMs + 600_000).pipe(
    Effect.andThen(use(reads)),
    Effect.provide(MinuteSeries.layer.pipe(Layer.provide([log, StoreClock.own])))
  )
}

const since = (at?: number) => Effect.flatMap(MinuteSeries, (series) => series.since(at))

describe("the series of minutes", () => {
  it.effect("covers 24 hours, and reads each hour that is over once", () =>
    withLog((reads) =>
      Effect.gen(function* () {
        const times = (yield* since()).map(({ at }) => at / hourMs)
        assert.deepStrictEqual([times[0], times.at(-1), times.length], [77, 100, 24])
        assert.strictEqual(reads.length, 25)
        yield* TestClock.adjust("10 seconds")
        yield* since()
        assert.deepStrictEqual(reads.slice(25), [100 * hourMs])
      })
    )
  )

  it.effect("reads an hour again until late entries cannot appear any more", () =>
    withLog((reads) =>
      Effect.gen(function* () {
        yield* since(100 * hourMs)
        yield* TestClock.adjust("51 minutes")
        yield* since(100 * hourMs)
        yield* TestClock.adjust("10 minutes")
        yield* since(100 * hourMs)
        yield* TestClock.adjust("10 minutes")
        yield* since(100 * hourMs)
        assert.strictEqual(reads.filter((from) => from === 100 * hourMs).length, 3)
      })
    )
  )

  it.effect("is read once for several pages that are open", () =>
    withLog((reads) =>
      Effect.gen(function* () {
        yield* Effect.all([since(100 * hourMs), since(100 * hourMs)], { concurrency: "unbounded" })
        assert.strictEqual(reads.length, 1)
      })
    )
  )
})
