import { assert, it } from "@effect/vitest"
import { Clock, Duration, Effect, Fiber, type Redacted, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import * as Postgres from "../../../../src/layers/sql/store/Postgres.ts"
import { DatabaseLane, type Lane } from "../../../../src/services/DatabaseLane.ts"
import { freshDatabase } from "../../../support/stores/Database.ts"
import { describeWithPostgres } from "../../../support/stores/Postgres.ts"

const over = (url: Redacted.Redacted, idleTimeout?: Postgres.PostgresOptions["idleTimeout"]) =>
  Postgres.layer({ url, poolSize: 8, idleTimeout })

/** Statements of this length at once, in one lane. */
const sleepers = (lane: Lane, count: number, seconds: number) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.forEach(Array.from({ length: count }), () => sql`select pg_sleep(${seconds}::float)::text as slept`, {
      concurrency: "unbounded",
      discard: true
    })
  ).pipe(Effect.provideService(DatabaseLane, lane))

/** The connections to the database, as an observer counts them who is none. */
const countConnections = (name: string) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql<{ readonly n: number }>`
      select count(*)::integer as n from pg_stat_activity where datname = ${name} and pid <> pg_backend_pid()`
  ).pipe(
    Effect.map(([row]) => row?.n ?? 0),
    Effect.provideService(DatabaseLane, "operator")
  )

/** Waits until there are so many connections; on a busy machine they take a while to open. */
const connectionsBecome = (name: string, expected: number) =>
  Effect.gen(function* () {
    const schedule = Schedule.spaced("50 millis")
    yield* Effect.repeat(countConnections(name), { until: (count) => count === expected, schedule, times: 200 })
    assert.strictEqual(yield* countConnections(name), expected)
  })

describeWithPostgres("the connections of a process", () => {
  it.live("are opened on demand, and closed when they are not used", () =>
    Effect.gen(function* () {
      const { name, url } = yield* freshDatabase
      yield* Effect.gen(function* () {
        assert.strictEqual(yield* countConnections(name), 0)
        const busy = yield* Effect.forkChild(sleepers("requests", 12, 2))
        yield* connectionsBecome(name, 6)
        yield* Fiber.join(busy)
        yield* connectionsBecome(name, 0)
      }).pipe(Effect.provide(over(url, Duration.millis(500))))
    })
  )

  it.live("leave operators one connection while requests use all of theirs", () =>
    Effect.gen(function* () {
      const { name, url } = yield* freshDatabase
      yield* Effect.gen(function* () {
        const busy = yield* Effect.forkChild(sleepers("requests", 12, 2))
        yield* connectionsBecome(name, 6)
        yield* sleepers("operator", 1, 0)
        assert.isUndefined(busy.pollUnsafe())
        yield* Fiber.join(busy)
      }).pipe(Effect.provide(over(url)))
    })
  )

  it.live("are at most two for background work, and an interrupted wait for one takes none", () =>
    Effect.gen(function* () {
      const { name, url } = yield* freshDatabase
      yield* Effect.gen(function* () {
        const busy = yield* Effect.forkChild(sleepers("background", 4, 1))
        const waiting = yield* Effect.forkChild(sleepers("background", 20, 1))
        yield* connectionsBecome(name, 2)
        yield* Fiber.interrupt(waiting)
        yield* Fiber.join(busy)
        const startedAt = yield* Clock.currentTimeMillis
        yield* sleepers("background", 2, 2)
        assert.isBelow((yield* Clock.currentTimeMillis) - startedAt, 4_000)
      }).pipe(Effect.provide(over(url)))
    })
  )
})
