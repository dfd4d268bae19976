import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient, Statement } from "effect/sql"
import {
  everything,
  type HistoryFilter,
  type HistoryQuery,
  type Position
} from "../../../../src/domain/log/QueryHistory.ts"
import { QueryLog } from "../../../../src/services/charging/QueryLog.ts"
import { makeAccount } from "../../../support/api/searches.ts"
import * as Postgres from "../../../support/stores/Postgres.ts"
import * as SqlStorage from "../../../support/stores/SqlStorage.ts"

const entries = 1_000_000
const step = 100_000
/** What a page may take on a machine that does nothing else. */
const pageMs = 50
const dayMs = 86_400_000

/**
 * An account with a million entries, one each 6 seconds over the last 70 days, and a fifth as many of others. One in
 * 50,000 is of a rare key.
 */
const busyAccount = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { id } = yield* makeAccount({ plan: "business" })
  yield* sql`select queries_make_partitions(now() - interval '75 days', 3)`
  for (let from = 1; from <= entries; from += step) {
    yield* sql`
      insert into queries (
        id, account_id, key_id, batch_id, target, query, geo, locale, page, num, safe, source, outcome, credits, cached,
        result_count, duration_ms, created_at
      )
      select 'qry_' || md5(n || owner), owner, case when n % 50000 = 1 then 'key_rare' else 'key_busy' end,
        case when n % 20 = 0 then 'bat_' || md5((n / 1000)::text || owner) end, 'alpha_search', 'query number ' || n, 'us',
        'en-us', 1, 10, 'off', 'api', 'ok', 1, false, 10, 300, now() - n * interval '6 seconds'
      from generate_series(${from}::bigint, ${from + step - 1}::bigint) as n cross join lateral
        (values (${id}::text, 1), ('acc_' || n % 7, 5)) as owners (owner, each) where n % each = 0`
  }
  yield* sql`analyze queries`
  return id
})

/** Work that takes the database as long as a page may take, where nothing else runs. */
const yardstick = Effect.flatMap(SqlClient.SqlClient, (sql) => sql`select sum(n) from generate_series(1, 500000) as n`)

/**
 * What a page takes, and what it may take on this machine: where something else slows it down, that slows the yardstick
 * down too. The fastest of a few of both.
 */
const timed = Effect.fnUntraced(function* <A, E, R>(effect: Effect.Effect<A, E, R>) {
  const clocked = Effect.fnUntraced(function* <B, F, S>(run: Effect.Effect<B, F, S>) {
    const start = performance.now()
    const result = yield* run
    return { result, ms: performance.now() - start }
  })
  let { ms, result } = yield* clocked(effect)
  let yardstickMs = Number.POSITIVE_INFINITY
  for (let n = 0; n < 5 && ms >= pageMs; n++) {
    yardstickMs = Math.min(yardstickMs, (yield* clocked(yardstick)).ms)
    const again = yield* clocked(effect)
    result = again.result
    ms = Math.min(ms, again.ms)
  }
  return { result, ms, mostMs: ms < pageMs ? pageMs : Math.max(pageMs, yardstickMs) }
})

/** The plans of every statement that an effect runs, without settings. */
const plansOf = Effect.fnUntraced(function* <A, E, R>(effect: Effect.Effect<A, E, R>) {
  const sql = yield* SqlClient.SqlClient
  const sent: Array<readonly [string, ReadonlyArray<unknown>]> = []
  yield* Effect.provideService(effect, Statement.CurrentTransformer, (statement) => {
    sent.push(statement.compile())
    return Effect.succeed(statement)
  })
  const queries = sent.filter(([text]) => !text.startsWith("set "))
  const plans = yield* Effect.forEach(queries, ([text, parameters]) =>
    sql.unsafe<{ readonly "QUERY PLAN": string }>(`explain ${text}`, parameters)
  )
  assert.isNotEmpty(plans)
  return plans.map((lines) => lines.map((line) => line["QUERY PLAN"]).join("\n")).join("\n\n")
})

Postgres.describeWithPostgres("a million entries of one account", () => {
  layer(SqlStorage.layer(Postgres.layer), { timeout: "120 seconds", excludeTestServices: true })(
    "on one store",
    (it) => {
      it.effect(
        "any page of the history takes less than 50 ms, and no statement reads a whole table",
        () =>
          Effect.gen(function* () {
            const log = yield* QueryLog
            const id = yield* busyAccount
            const page = (filter: Partial<HistoryFilter>, after?: Position, limit = 100) => {
              const query: HistoryQuery = { filter: { ...everything, ...filter }, after, limit }
              return log.history(id, query)
            }
            const first = yield* timed(page({}))
            assert.strictEqual(first.result.entries.length, 100)
            const last = first.result.entries.at(-1)?.at ?? 0
            const day = { from: last - dayMs, to: last, granularity: "hour", groupBy: "key" } as const
            const deep = { atMicros: BigInt(last - 65 * dayMs) * 1000n, ordinal: 0n }
            const pages = {
              first: page({}),
              deep: page({}, deep),
              filtered: page({ target: "alpha_search", outcome: "ok", text: "number 9" }, deep),
              batch: page({ batchId: first.result.entries.find(({ batchId }) => batchId !== undefined)?.batchId }),
              one: page({ id: first.result.entries.at(-1)?.id })
            }
            for (const [name, effect] of Object.entries(pages)) {
              const { ms, mostMs, result } = yield* timed(effect)
              assert.isNotEmpty(result.entries, name)
              assert.isBelow(ms, mostMs, name)
            }
            const plans = yield* plansOf(
              Effect.all([
                ...Object.values(pages),
                log.recent(id, 100),
                log.usage(id, day),
                page({ keyId: "key_rare" })
              ])
            )
            // An empty month is read whole, which costs nothing; a month with entries never is.
            const whole = plans.split("\n").filter((line) => line.includes("Seq Scan") && !/ rows=1 /.test(line))
            assert.deepStrictEqual(whole, [])
            assert.include(plans, "queries_2")
          }),
        120_000
      )

      it.effect("a filter that few entries pass leads through the log in steps, and none of them is long", () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const log = yield* QueryLog
          const [account] = yield* sql<{ readonly id: string }>`
          select account_id as id from queries where key_id = 'key_rare' group by 1 order by count(*) desc limit 1`
          const found: Array<string> = []
          let steps = 0
          let after: Position | undefined
          do {
            const query = { filter: { ...everything, keyId: "key_rare" }, after, limit: 100 }
            const { ms, mostMs, result } = yield* timed(log.history(account?.id ?? "", query))
            found.push(...result.entries.map((entry) => entry.id))
            assert.isBelow(ms, mostMs, `step ${steps++}`)
            after = result.next
          } while (after !== undefined)
          assert.strictEqual(new Set(found).size, entries / 50_000)
          assert.isAtLeast(steps, 2)
        })
      )

      it.effect("erasing goes through a log of any length", () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const log = yield* QueryLog
          const left = (accountId: string) => sql<{ readonly n: number }>`
          select count(*)::int as n from queries where account_id = ${accountId} and (query <> '' or source <> '')`
          assert.isAbove((yield* left("acc_1"))[0]?.n ?? 0, 25_000)
          const others = yield* left("acc_2")
          yield* log.erase("acc_1")
          assert.deepStrictEqual(yield* left("acc_1"), [{ n: 0 }])
          assert.deepStrictEqual(yield* left("acc_2"), others)
        })
      )
    }
  )
})
