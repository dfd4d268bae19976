import { Clock, Duration, Effect, Layer, Metric, Schedule, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { maxSkewMs } from "../../../domain/operations/Status.ts"
import { runInBackground } from "../../../services/background.ts"
import { StoreClock } from "../../../services/StoreClock.ts"
import { clockSkew } from "../../../services/telemetry/Metrics.ts"
import { rowOf } from "../Rows.ts"
import { retryTransient } from "../Transient.ts"

const defaultInterval = Duration.seconds(10)
/** A slower response is too imprecise. */
const maxRoundTripMs = 1_000

const timeRow = rowOf(Schema.Struct({ now: Schema.Date }))

interface Measurement {
  readonly skewMs: number
  readonly roundTripMs: number
}

const measure = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const askedAt = yield* Clock.currentTimeMillis
  const row = yield* timeRow(sql`select clock_timestamp() as now`)
  const answeredAt = yield* Clock.currentTimeMillis
  const measurement: Measurement = {
    skewMs: (row?.now.getTime() ?? askedAt) - (askedAt + answeredAt) / 2,
    roundTripMs: answeredAt - askedAt
  }
  return measurement
})

const describe = (skewMs: number): string => {
  const size = Duration.format(Duration.seconds(Math.round(Math.abs(skewMs) / 1000)))
  return `${size} ${skewMs < 0 ? "ahead of" : "behind"} the database's`
}

/** Measures before it is ready, so a replica with a wrong clock never opens a period by its own time. */
export const layer = (options: { readonly interval?: Duration.Duration } = {}) =>
  Layer.effect(
    StoreClock,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      let skewMs = 0
      let isSkewed = false
      const apply = Effect.fnUntraced(function* (measured: Measurement) {
        if (measured.roundTripMs > maxRoundTripMs && Math.abs(measured.skewMs - skewMs) < measured.roundTripMs) return
        skewMs = Math.round(measured.skewMs)
        yield* Metric.update(clockSkew.of(), -skewMs / 1000)
        if (Math.abs(skewMs) > maxSkewMs === isSkewed) return
        isSkewed = !isSkewed
        yield* isSkewed
          ? Effect.logWarning(
              `This machine's clock is ${describe(skewMs)}, which periods use. Correct this machine's clock.`
            )
          : Effect.logInfo("This machine's clock agrees with the database's again.")
      })
      // Warms up the connection, whose opening would distort the measurement.
      yield* retryTransient(measure(sql))
      yield* Effect.flatMap(retryTransient(measure(sql)), apply)
      yield* Effect.flatMap(measure(sql), apply).pipe(
        Effect.catchCause((cause) => Effect.logDebug("The database's clock could not be read.", cause)),
        Effect.delay(options.interval ?? defaultInterval),
        Effect.repeat(Schedule.forever),
        runInBackground
      )
      return { skewMs: () => skewMs }
    })
  )
