// Measures the upkeep of a long log: disk space, history, usage, `ledger verify` and retention.
import { execFileSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { Console, Duration, Effect, Fiber, Layer, Redacted } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { everything } from "../../src/domain/log/QueryHistory.ts"
import type { UsageQuery } from "../../src/domain/log/Usage.ts"
import * as Ids from "../../src/layers/Ids.ts"
import * as AccountsSql from "../../src/layers/sql/accounts/AccountsSql.ts"
import * as LedgerSql from "../../src/layers/sql/credits/LedgerSql.ts"
import { countHours } from "../../src/layers/sql/credits/UsageHours.ts"
import * as Migrations from "../../src/layers/sql/Migrations.ts"
import * as LogMaintenance from "../../src/layers/sql/operations/LogMaintenance.ts"
import * as QueryLogSql from "../../src/layers/sql/search/QueryLogSql.ts"
import * as Postgres from "../../src/layers/sql/store/Postgres.ts"
import { Accounts } from "../../src/services/accounts/Accounts.ts"
import { QueryLog } from "../../src/services/charging/QueryLog.ts"
import { Ledger } from "../../src/services/credits/Ledger.ts"
import { StoreClock } from "../../src/services/StoreClock.ts"
import * as StandardSettings from "../../src/testing/StandardSettings.ts"
import { makeRecord } from "../../test/support/api/searches.ts"
import { cpuMs } from "../support/Cpu.ts"
import { start } from "../support/Stores.ts"

const usage = `npx node bench/log/scale.ts [--rows N] [--months N] [--kept N] [--share N]

Generates N charged searches (20,000,000) of 10,000 accounts over this month and the --months (2) before it. Of every
--share (20) searches, one belongs to a single large account. Then measures disk space, history, usage and retention.
With --kept, the log retains only that many months, and \`ledger verify\` is measured instead. Starts its own Postgres,
unless BENCH_DATABASE_URL names a server; psql loads the searches.`

const { values } = parseArgs({
  options: {
    rows: { type: "string", default: "20000000" },
    months: { type: "string", default: "2" },
    kept: { type: "string" },
    share: { type: "string", default: "20" },
    help: { type: "boolean", default: false }
  }
})
const { months, rows, share } = values
const kept = values.kept ?? months
const hasWholeLog = kept === months

const largeAccount = "acc_cfcd208495d565ef66e7dff9f98764da"

const script = fileURLToPath(new URL("../../scripts/query-plans/load.sql", import.meta.url))

const fill = (url: string) =>
  Effect.sync(() => {
    const variables = Object.entries({ ON_ERROR_STOP: "1", rows, months, kept, share })
    execFileSync(
      "psql",
      [
        "-X",
        "-q",
        "-o",
        "/dev/null",
        ...variables.flatMap(([name, value]) => ["-v", `${name}=${value}`]),
        "-f",
        script,
        url
      ],
      { env: { ...process.env, PGOPTIONS: "-c maintenance_work_mem=512MB -c client_min_messages=warning" } }
    )
  })

/** The main process of the Postgres server. Undefined if the benchmark did not start it. */
let postgres: number | undefined

const usedMs = () => (postgres === undefined ? Number.NaN : cpuMs(postgres))

/** The elapsed time of an effect, and Postgres's CPU time during it, which varies less on a busy machine. */
const timed = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const [startedAt, usedBefore] = [performance.now(), usedMs()]
    return Effect.map(effect, (value) => ({
      value,
      ms: performance.now() - startedAt,
      cpu: `${((usedMs() - usedBefore) / 1000).toFixed(1)} s of CPU`
    }))
  })

const quantiles = (times: ReadonlyArray<number>) => {
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number) => (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(1)
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, slowest ${at(1)} ms`
}

/** The time of each of 20 runs, after a warm-up run. */
const repeated = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    yield* effect
    const runs = yield* Effect.replicateEffect(timed(effect), 20)
    return quantiles(runs.map(({ ms }) => ms))
  })

const sizes = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const found = yield* sql<Readonly<Record<"name", string>> & { readonly bytes: bigint; readonly heap: bigint }>`
    select regexp_replace(relname, '_(default|[0-9]{4}_[0-9]{2})$', '') as name,
      sum(pg_total_relation_size(oid))::bigint as bytes, sum(pg_table_size(oid))::bigint as heap
    from pg_class
    where relkind = 'r' and relname ~ '^(queries_|usage_hours_|ledger_(entries|months|checkpoints)$)' group by 1 order by 1`
  for (const { bytes, heap, name } of found) {
    yield* Console.log(
      `${name}: ${(Number(bytes) / 1e6).toFixed(0)} MB, ${(Number(heap) / 1e6).toFixed(0)} MB of it rows, ` +
        `${(Number(bytes) / Number(rows)).toFixed(1)} bytes for each of the searches`
    )
  }
})

const dayMs = 86_400_000

const asked = (now: number): ReadonlyArray<UsageQuery> => {
  const range = { from: now - 90 * dayMs, to: now }
  return [
    { ...range, granularity: "month", groupBy: undefined },
    { ...range, granularity: "day", groupBy: "target" },
    { ...range, granularity: "day", groupBy: "key" },
    { ...range, granularity: "hour", groupBy: undefined }
  ]
}

const usageOf90Days = Effect.gen(function* () {
  const log = yield* QueryLog
  const sql = yield* SqlClient.SqlClient
  const all = Effect.forEach(asked(Date.now()), (query) =>
    Effect.map(timed(log.usage(largeAccount, query)), (run) => ({ query, ...run }))
  )
  const before = yield* all
  const counted = yield* timed(countHours(sql))
  yield* sql`vacuum analyze usage_hours`
  yield* Console.log(`hours counted for the first time: ${(counted.ms / 1000).toFixed(1)} s, ${counted.cpu}`)
  for (const { ms, query, value } of before) {
    const after = yield* log.usage(largeAccount, query)
    const isSame = JSON.stringify(after) === JSON.stringify(value)
    const searches = after.reduce((sum, bucket) => sum + bucket.searches, 0)
    yield* Console.log(
      `usage by ${query.granularity} and ${query.groupBy ?? "nothing"}, ${searches} searches: ` +
        `${yield* repeated(log.usage(largeAccount, query))}; from the log alone ${ms.toFixed(0)} ms; ` +
        `${isSame ? "the same" : "DIFFERENT"} answer`
    )
  }
})

const history = Effect.gen(function* () {
  const log = yield* QueryLog
  const page = (filter: Partial<typeof everything>, after?: Parameters<typeof log.history>[1]["after"]) =>
    log.history(largeAccount, { filter: { ...everything, ...filter }, after, limit: 100 })
  yield* Console.log(`history, newest 100: ${yield* repeated(page({}))}`)
  const old = yield* page({ to: Date.now() - 60 * dayMs })
  yield* Console.log(`history, 100 from the middle: ${yield* repeated(page({}, old.next))}`)
  yield* Console.log(`history, 100 with an outcome of 2 %: ${yield* repeated(page({ outcome: "upstream_error" }))}`)
  yield* Console.log(`history, a text that is nowhere: ${yield* repeated(page({ text: "nowhere" }))}`)
})

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`

/** Adds a few searches of a thousand accounts, as between two verifications. */
const searchMore = (count: number) =>
  Effect.gen(function* () {
    const ledger = yield* Ledger
    const sql = yield* SqlClient.SqlClient
    const ids = yield* sql<{ readonly id: string }>`select id from accounts order by id limit 1000`
    const accounts = yield* Effect.forEach(ids, ({ id }) => Effect.flatMap(Accounts, (all) => all.byId(id)))
    yield* Effect.forEach(
      Array.from({ length: count }, (_, index) => accounts[index % accounts.length]),
      Effect.fnUntraced(function* (account) {
        if (account === undefined) return
        yield* ledger.settle(yield* ledger.reserve(account, 1), [yield* makeRecord(account)])
      }),
      { concurrency: 64, discard: true }
    )
  })

const verification = Effect.gen(function* () {
  const ledger = yield* Ledger
  const report = (name: string, run: typeof ledger.verify) =>
    Effect.flatMap(timed(run), ({ cpu, ms, value }) =>
      Console.log(`ledger verify, ${name}: ${seconds(ms)}, ${cpu}, ${value.length} discrepancies`)
    )
  yield* report("the first, which reads every entry", ledger.verify)
  yield* report("from the closed months", ledger.verify)
  yield* searchMore(20_000)
  yield* report("from the closed months, with 20,000 new searches", ledger.verify)
  yield* report("--full", ledger.verifyFully)
})

/** Changes entries with the trigger that forbids it turned off. */
const tamper = (change: (sql: SqlClient.SqlClient) => Effect.Effect<unknown, SqlError.SqlError>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`alter table ledger_entries disable trigger ledger_entries_append_only`
    yield* change(sql)
    yield* sql`alter table ledger_entries enable trigger ledger_entries_append_only`
  })

/** Damages the books in each way, each on a separate account, and prints which a full verification finds. */
const damage = Effect.gen(function* () {
  const ledger = yield* Ledger
  const faults: Readonly<
    Record<string, (sql: SqlClient.SqlClient, id: string) => Effect.Effect<unknown, SqlError.SqlError>>
  > = {
    "a changed quota": (sql, id) => sql`update allowances set used = used + 1 where scope = ${id}`,
    "a changed pack balance": (sql, id) => sql`update wallets set balance = balance + 1 where account_id = ${id}`,
    "a search that the log has lost": (sql, id) => sql`
      delete from queries where id = (select id from queries where account_id = ${id} order by created_at limit 1)`,
    "the oldest entry changed": (sql, id) => sql`
      update ledger_entries set reason = 'forged'
      where id = (select id from ledger_entries where account_id = ${id} order by created_at limit 1)`,
    "the oldest entry gone, and its credit": (sql, id) =>
      Effect.andThen(
        sql`
          delete from ledger_entries
          where id = (select id from ledger_entries where account_id = ${id} order by created_at limit 1)`,
        sql`update allowances set used = used - 1 where scope = ${id}`
      )
  }
  const sql = yield* SqlClient.SqlClient
  const ids = yield* sql<{
    readonly id: string
  }>`select id from accounts order by id desc limit ${Object.keys(faults).length}`
  const damaged = Object.entries(faults).map(([name, fault], index) => ({ name, fault, id: ids[index]?.id ?? "" }))
  for (const { fault, id } of damaged) yield* tamper((sql) => fault(sql, id))
  const { cpu, ms, value } = yield* timed(ledger.verifyFully)
  yield* Console.log(`damaged, --full: ${seconds(ms)}, ${cpu}`)
  for (const { id, name } of damaged) {
    const found = value.filter(({ accountId }) => accountId === id).map(({ what }) => what)
    yield* Console.log(`  ${name}: ${found.join(" and ") || "not found"}`)
  }
})

/** Drops the months before this one, one after the other, while searches run. */
const retention = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const ledger = yield* Ledger
  const [first] = yield* sql<{ readonly id: string }>`select id from accounts order by id limit 1`
  const account = yield* Effect.flatMap(Accounts, (all) => all.byId(first?.id ?? ""))
  const times: Array<number> = []
  const search = Effect.gen(function* () {
    const { ms } = yield* timed(
      Effect.gen(function* () {
        yield* ledger.settle(yield* ledger.reserve(account, 1), [yield* makeRecord(account)])
      })
    )
    times.push(ms)
  })
  const searching = yield* Effect.forkChild(Effect.forever(search))
  yield* Effect.sleep("10 seconds")
  const alone = times.splice(0)
  yield* sql`update log_upkeep set retention_ms = ${dayMs}`
  const { ms } = yield* timed(LogMaintenance.dropMonths(sql))
  yield* Effect.sleep("1 second")
  yield* Fiber.interrupt(searching)
  const audited = yield* sql`select from audit_entries where command = 'retention drop'`
  yield* Console.log(`retention: ${audited.length} months dropped in ${ms.toFixed(0)} ms`)
  yield* Console.log(`searches before: ${quantiles(alone)}`)
  yield* Console.log(`searches meanwhile and in the second after: ${quantiles(times)}`)
})

const measure = (url: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const loaded = yield* timed(fill(url))
    yield* Console.log(
      `${rows} searches over ${Number(months) + 1} months, the log has ${Number(kept) + 1}: made in ${seconds(loaded.ms)}`
    )
    yield* sql`update log_upkeep set retention_ms = ${3650 * dayMs}::bigint`
    if (hasWholeLog) {
      yield* history
      yield* usageOf90Days
      yield* sizes
      yield* retention
    } else {
      yield* verification
      yield* sizes
      yield* damage
    }
  })

const services = (url: Redacted.Redacted) =>
  Layer.mergeAll(AccountsSql.layer, LedgerSql.layer({ hasUpkeep: false }), QueryLogSql.layer).pipe(
    Layer.provide([StandardSettings.plans, StoreClock.own]),
    Layer.provideMerge(Ids.layer),
    Layer.provideMerge(Migrations.layer),
    Layer.provideMerge(Postgres.layer({ url, poolSize: 10, statementTimeout: Duration.minutes(10) }))
  )

const program = Effect.gen(function* () {
  const stores = yield* start
  postgres = stores.pids.postgres
  yield* Console.log(stores.description)
  const url = yield* stores.database("quarry_log_scale")
  yield* Effect.provide(measure(url), services(Redacted.make(url)))
})

if (values.help) console.log(usage)
else await Effect.runPromise(Effect.scoped(program))
