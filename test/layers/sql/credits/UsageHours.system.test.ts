import { assert, describe, it, layer } from "@effect/vitest"
import { Deferred, Duration, Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import * as fc from "fast-check"
import { granularities, groupings, type UsageQuery } from "../../../../src/domain/log/Usage.ts"
import * as LedgerSql from "../../../../src/layers/sql/credits/LedgerSql.ts"
import { countHours } from "../../../../src/layers/sql/credits/UsageHours.ts"
import * as PostgresSql from "../../../../src/layers/sql/store/Postgres.ts"
import { QueryLog } from "../../../../src/services/charging/QueryLog.ts"
import { Ledger } from "../../../../src/services/credits/Ledger.ts"
import { makeAccount, makeRecord, makeRecords } from "../../../support/api/searches.ts"
import { freshDatabase } from "../../../support/stores/Database.ts"
import * as EmbeddedDatabase from "../../../support/stores/EmbeddedDatabase.ts"
import * as Postgres from "../../../support/stores/Postgres.ts"
import * as SqlStorage from "../../../support/stores/SqlStorage.ts"

const hourMs = 3_600_000
const days = 3

/**
 * Searches of two accounts over the last days, of three keys and none: every third hour is busy, every other one has few.
 * Their credits differ, so that a sum of the wrong ones is seen.
 */
const searched = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const accounts = [yield* makeAccount({ plan: "business" }), yield* makeAccount({ plan: "business" })]
  yield* sql`select queries_make_partitions(clock_timestamp() - interval '1 month', 2)`
  for (const { id } of accounts) {
    yield* sql`
      insert into queries (
        id, account_id, key_id, target, query, geo, locale, page, num, safe, source, outcome, credits, cached, result_count,
        duration_ms, created_at
      )
      select 'qry_' || md5(${id} || h || '.' || n), ${id}, (array['key_1', 'key_2', 'key_3', null])[1 + (h * 7 + n) % 4],
        (array['alpha_search', 'beta_search', 'zeta_search'])[1 + (h + n) % 3], 'q', 'us', 'en-us', 1, 10, 'off', 'api',
        (array['ok', 'ok', 'upstream_error', 'upstream_timeout'])[1 + n % 4], 1 + n % 3, false, 0, 1,
        clock_timestamp() - h * interval '1 hour' - n * interval '61 seconds'
      from generate_series(0, ${days * 24}) as h,
        generate_series(1, case when h % 3 = 0 then 50 when h % 5 = 0 then 0 else 4 end) as n`
  }
  return accounts.map(({ id }) => id)
})

const dayMs = 24 * hourMs

const queries = (now: number): fc.Arbitrary<UsageQuery> =>
  fc
    .record({
      length: fc.integer({ min: 1, max: days * dayMs }),
      end: fc.integer({ min: -hourMs, max: days * dayMs }),
      isWhole: fc.boolean(),
      granularity: fc.constantFrom(...granularities),
      groupBy: fc.constantFrom(undefined, ...groupings)
    })
    .map(({ end, granularity, groupBy, isWhole, length }) => {
      const round = (at: number) => (isWhole ? Math.floor(at / hourMs) * hourMs : at)
      return { from: round(now - end - length), to: round(now - end) + 1, granularity, groupBy }
    })

const countedTo = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ readonly counted_to: Date | null }>`select counted_to from log_upkeep`
  return row?.counted_to ?? null
})

/** Makes a clock that goes on by five seconds whenever it is read, so that hours end on machines of any speed. */
const fastClock = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [started] = yield* sql<{ readonly at: string }>`select clock_timestamp()::text as at`
  yield* sql`create schema fast`
  yield* sql`create sequence fast.readings`
  yield* sql.unsafe(`
    create function fast.clock_timestamp() returns timestamptz language sql volatile as $$
      select timestamptz '${started?.at}' + nextval('fast.readings') * interval '5 seconds'
    $$`)
  yield* sql`alter table queries alter column created_at set default fast.clock_timestamp()`
})

/** The schemas in which names are looked up: functions of `fast` take the place of the system's. */
const fastPath = "fast, pg_catalog, public"

/** The answer that `usage` owes for an account, from the log alone. */
const scanned = (sql: SqlClient.SqlClient, id: string, { groupBy }: UsageQuery) => sql`
  select date_trunc('hour', created_at, 'UTC') as start, ${sql.literal(
    groupBy === "target" ? "target" : groupBy === "key" ? "key_id" : "null"
  )} as group, count(*)::int as searches, sum(credits)::int as credits
  from queries where account_id = ${id} group by 1, 2 order by 1, 2`

/** Fails unless usage and the log are equal at one moment. The result is the number of searches. */
const compared = Effect.fnUntraced(function* (id: string) {
  const sql = yield* SqlClient.SqlClient
  const log = yield* QueryLog
  return yield* sql.withTransaction(
    Effect.gen(function* () {
      yield* sql`set transaction isolation level repeatable read`
      let all = 0
      for (const groupBy of [undefined, ...groupings]) {
        const query = { from: 0, to: 4e12, granularity: "hour", groupBy } as const
        const found = (yield* log.usage(id, query)).map((bucket) => ({
          start: new Date(bucket.start),
          group: bucket.group ?? null,
          searches: bucket.searches,
          credits: bucket.credits
        }))
        const expected = yield* scanned(sql, id, query)
        assert.deepStrictEqual(found, expected)
        all = found.reduce((sum, { searches }) => sum + searches, 0)
      }
      return all
    })
  )
})

/**
 * Searches of two accounts, settled row by row, as a whole or not at all, until so many hours were counted. Meanwhile an
 * account is erased again and again, and usage is compared with the log.
 */
const busyHours = Effect.fnUntraced(function* (hours: number) {
  const sql = yield* SqlClient.SqlClient
  const ledger = yield* Ledger
  const log = yield* QueryLog
  const accounts = [
    yield* makeAccount({ plan: "custom", quota: 1e6 }),
    yield* makeAccount({ plan: "custom", quota: 1e6 })
  ]
  const search = Effect.fnUntraced(function* (index: number) {
    const account = accounts[index % accounts.length] ?? assert.fail("there are accounts")
    const hold = yield* ledger.reserve(account, 4)
    const part = yield* makeRecord(account)
    if (index % 3 === 0) yield* ledger.settlePart(hold, part)
    const records = yield* makeRecords(account, index % 4)
    yield* ledger.settle(hold, records)
    // A repeated settlement charges and logs nothing.
    if (index % 5 === 0) yield* Effect.exit(ledger.settle(hold, records))
    if (index % 7 === 0) yield* log.append([{ ...(yield* makeRecord(undefined)), accountId: account.id }])
  })
  let index = 0
  const counted = Effect.map(sql`select count(distinct hour)::int as hours from usage_hours`, ([row]) =>
    Number(row?.hours)
  )
  const upkeep = Effect.gen(function* () {
    yield* countHours(sql, Duration.seconds(1))
    for (const { id } of accounts) yield* compared(id)
    yield* log.erase(accounts[0]?.id ?? "")
    return yield* counted
  })
  const searches = Effect.forever(Effect.suspend(() => search(index++)))
  yield* Effect.raceFirst(
    Effect.repeat(upkeep, { until: (found) => found >= hours }),
    Effect.all([searches, searches, searches, searches], { concurrency: "unbounded", discard: true })
  )
  yield* countHours(sql)
  for (const { id } of accounts) assert.isAbove(yield* compared(id), 20 * hours)
})

const suite = <E>(name: string, database: Layer.Layer<SqlClient.SqlClient, E>) => {
  layer(SqlStorage.layer(database), { excludeTestServices: true, timeout: "60 seconds" })(name, (it) => {
    it.effect("counting starts at the first search, and not at the start of its month", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`select queries_make_partitions(clock_timestamp() - interval '1 month', 2)`
        yield* countHours(sql)
        assert.isNull(yield* countedTo)
      })
    )

    it.effect("I2: usage is the same to the credit before and after hours are counted, for every filter", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const log = yield* QueryLog
        const ids = yield* searched
        const [clock] = yield* sql<{ readonly now: Date }>`select clock_timestamp() as now`
        const now = clock?.now.getTime() ?? 0
        const asked = fc.sample(queries(now), 20)
        const answers = Effect.forEach(ids, (id) => Effect.forEach(asked, (query) => log.usage(id, query)))
        const before = yield* answers
        assert.isAbove(before.flat(2).length, 50)
        yield* countHours(sql)
        assert.isAbove((yield* countedTo)?.getTime() ?? 0, now - 2 * hourMs)
        assert.deepStrictEqual(yield* answers, before)

        // An hour that was counted is not read from the log any more: it is the same without it.
        const [busy] = yield* sql<{ readonly hour: Date }>`select min(hour) as hour from usage_hours`
        const hour = busy?.hour ?? new Date()
        const inHour = {
          from: hour.getTime(),
          to: hour.getTime() + hourMs,
          granularity: "hour",
          groupBy: "key"
        } as const
        const counted = yield* log.usage(ids[0] ?? "", inHour)
        assert.strictEqual(
          counted.reduce((sum, { searches }) => sum + searches, 0),
          Number(
            (yield* sql`
              delete from queries where account_id = ${ids[0] ?? ""} and created_at >= ${hour}
                and created_at < ${hour}::timestamptz + interval '1 hour' returning id`).length
          )
        )
        assert.deepStrictEqual(yield* log.usage(ids[0] ?? "", inHour), counted)

        // Searches that come later are in the answer at once.
        const record = yield* makeRecord(undefined)
        yield* log.append([{ ...record, accountId: ids[1] ?? "", credits: 0 }])
        const hourOfNow = {
          from: now - hourMs,
          to: now + 2 * hourMs,
          granularity: "month",
          groupBy: undefined
        } as const
        const total = Effect.map(log.usage(ids[1] ?? "", hourOfNow), (rows) =>
          rows.reduce((sum, { searches }) => sum + searches, 0)
        )
        const first = yield* total
        yield* log.append([{ ...record, id: `${record.id}2`, accountId: ids[1] ?? "", credits: 0 }])
        assert.strictEqual(yield* total, first + 1)
      })
    )

    it.effect("I2: usage and the log agree when the clock was set back to an hour that was counted", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { id } = yield* makeAccount({ plan: "business" })
        yield* sql`
          insert into usage_hours
          select ${id}, 'target', date_trunc('hour', clock_timestamp(), 'UTC'), 'alpha_search', 50, 50, 50, 0, 0`
        yield* sql`update log_upkeep set counted_to = date_trunc('hour', clock_timestamp(), 'UTC') + interval '1 hour'`
        const log = yield* QueryLog
        yield* log.append([{ ...(yield* makeRecord(undefined)), accountId: id }])
        yield* countHours(sql)
        assert.strictEqual(yield* compared(id), 1)
      })
    )

    it.effect("an hour with few searches is left to the log, and takes no space", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const few = yield* sql`
          select hour from usage_hours where counted_by = 'target' group by account_id, hour having sum(searches) < 20`
        const many = yield* sql`
          select hour from usage_hours where counted_by = 'key' group by account_id, hour having sum(searches) >= 20`
        assert.deepStrictEqual(few, [])
        assert.isAbove(many.length, 30)
      })
    )
  })
}

/** Holds that do not expire in the hours that a fast clock makes of a test. */
const patientLedger = LedgerSql.layer({ hasUpkeep: false, lease: Duration.days(3650) })

describe("UsageHours", () => {
  suite("on the embedded database", EmbeddedDatabase.layer)

  it.live("I2: usage is the log's to the credit at every moment, while hours end and searches run", () =>
    Effect.gen(function* () {
      yield* fastClock
      const sql = yield* SqlClient.SqlClient
      yield* sql.unsafe(`set search_path = ${fastPath}`)
      yield* Effect.provide(busyHours(4), patientLedger)
    }).pipe(Effect.provide(SqlStorage.layer(EmbeddedDatabase.layer), { local: true }))
  )
})

Postgres.describeWithPostgres("UsageHours on Postgres", () => {
  suite("on a server", Postgres.layer)

  it.live("I2: usage is the log's to the credit at every moment, beside searches of a pool of connections", () =>
    Effect.gen(function* () {
      const { name, url } = yield* freshDatabase
      const storage = (poolSize: number) => Layer.fresh(SqlStorage.layer(PostgresSql.layer({ url, poolSize })))
      yield* Effect.gen(function* () {
        yield* fastClock
        const sql = yield* SqlClient.SqlClient
        yield* sql.unsafe(`alter database ${name} set search_path = ${fastPath}`)
      }).pipe(Effect.provide(storage(1), { local: true }))
      yield* Effect.provide(busyHours(4), patientLedger).pipe(Effect.provide(storage(8), { local: true }))
    })
  )

  it.live("I2: no hour is counted while a transaction that may have written in it is open", () =>
    Effect.gen(function* () {
      const { url } = yield* freshDatabase
      const storage = SqlStorage.layer(PostgresSql.layer({ url, poolSize: 4 }))
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const log = yield* QueryLog
        const account = yield* makeAccount({ plan: "business" })
        const insert = (prefix: string) => sql`
          insert into queries (
            id, account_id, target, query, geo, locale, page, num, safe, source, outcome, credits, cached, result_count,
            duration_ms, created_at
          )
          select ${prefix}::text || n, ${account.id}, 'alpha_search', 'q', 'us', 'en-us', 1, 10, 'off', 'api', 'ok', 1, false,
            0, 1, date_trunc('hour', clock_timestamp(), 'UTC') - interval '90 minutes'
          from generate_series(1, 30) as n`
        yield* insert("qry_a")
        const written = yield* Deferred.make<void>()
        const looked = yield* Deferred.make<void>()
        const writer = yield* Effect.forkChild(
          sql.withTransaction(
            insert("qry_b").pipe(
              Effect.andThen(Deferred.succeed(written, undefined)),
              Effect.andThen(Deferred.await(looked))
            )
          )
        )
        yield* Deferred.await(written)
        yield* countHours(sql, Duration.zero)
        assert.isNull(yield* countedTo)
        yield* Deferred.succeed(looked, undefined)
        yield* Fiber.join(writer)
        yield* countHours(sql)
        assert.isNotNull(yield* countedTo)
        const [row] = yield* sql`select sum(searches)::int as searches from usage_hours where counted_by = 'key'`
        assert.deepStrictEqual(row, { searches: 60 })
        const all = { from: 0, to: 4e12, granularity: "month", groupBy: undefined } as const
        const counted = yield* log.usage(account.id, all)
        assert.strictEqual(
          counted.reduce((sum, { credits }) => sum + credits, 0),
          60
        )
      }).pipe(Effect.provide(storage, { local: true }))
    })
  )
})
