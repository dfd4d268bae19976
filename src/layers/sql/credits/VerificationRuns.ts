import { Effect, Schema } from "effect"
import type { SqlClient, SqlError, Statement } from "effect/sql"
import type { Discrepancy } from "../../../services/credits/Ledger.ts"
import { rowOf, rowsOf } from "../Rows.ts"
import { unlimited } from "../store/StatementLimit.ts"
import {
  books,
  closedBooks,
  discrepancyRows,
  kindOf,
  lockClosedMonths,
  markRead,
  type ProblemKind,
  toDiscrepancies,
  trialBooks
} from "./Verification.ts"

/** In UTC. */
const nightHour = 3
/** After this long without progress, another replica takes over the run. */
const leaseMinutes = 30
const keptDays = 90

const idRow = rowOf(Schema.Struct({ id: Schema.BigInt }))

/** By the database's clock. Undefined if the run is done or another replica has it. Catches up after a missed night. */
export const takeNight = (sql: SqlClient.SqlClient) =>
  idRow(sql`
    with due as (select (clock_timestamp() at time zone 'utc' - ${nightHour} * interval '1 hour')::date as night)
    insert into ledger_verifications as v (night, lease_until)
    select night, clock_timestamp() + ${leaseMinutes} * interval '1 minute' from due
    where not exists (
      select from ledger_verifications o
      where o.night = due.night and (o.finished_at is not null or o.lease_until > clock_timestamp())
    )
    on conflict (night) do update set started_at = clock_timestamp(), lease_until = excluded.lease_until
    where v.finished_at is null and v.lease_until <= clock_timestamp()
    returning id`)

const finish = (sql: SqlClient.SqlClient, id: bigint, { accounts, isFull, problems }: Findings) => sql`
  update ledger_verifications set finished_at = clock_timestamp(), accounts = ${accounts}, is_full = ${isFull},
    quota_problems = ${problems.quota}, balance_problems = ${problems.balance}, log_problems = ${problems.log},
    closed_problems = ${problems.closed}
  where id = ${id}`

const deleteOldRuns = (sql: SqlClient.SqlClient) => sql`
  delete from ledger_verifications where started_at < clock_timestamp() - ${keptDays} * interval '1 day'`

/** Bounds the database's memory and the age of its snapshots. */
const accountsOfRange = 1_000
const maxListed = 10_000
const rereadEntries = 1_000_000
const rereadTogether = 100_000

export interface Findings {
  readonly accounts: number
  readonly isFull: boolean
  readonly problems: Readonly<Record<ProblemKind, number>>
  readonly discrepancies: ReadonlyArray<Discrepancy>
}

interface Run {
  readonly sql: SqlClient.SqlClient
  readonly isFull: boolean
  readonly extendLease: Effect.Effect<unknown, SqlError.SqlError>
  readonly note: (found: ReadonlyArray<Discrepancy>) => void
}

/** One at a time, or two would add the same entries to a month. Without JIT, which takes longer than it saves. */
const compare = Effect.fnUntraced(function* ({ extendLease, note, sql }: Run, statement: Statement.Statement<object>) {
  const rows = yield* unlimited(
    sql,
    Effect.gen(function* () {
      yield* sql`set local jit = off`
      yield* lockClosedMonths(sql)
      return yield* discrepancyRows(statement)
    })
  )
  const found = toDiscrepancies(rows)
  note(found)
  yield* extendLease
  return found
})

const rangeRow = rowOf(Schema.Struct({ last: Schema.NullOr(Schema.String), accounts: Schema.BigInt }))

const readRange = (sql: SqlClient.SqlClient, after: string) =>
  rangeRow(sql`
    select max(id) as last, count(*) as accounts
    from (select id from accounts where id > ${after} order by id limit ${accountsOfRange}) as t`)

const compareAccounts = Effect.fnUntraced(function* (run: Run) {
  const { isFull, sql } = run
  let accounts = 0
  let after = ""
  while (true) {
    const range = yield* readRange(sql, after)
    const last = range?.last ?? undefined
    // The last range is open-ended, so it includes rows that belong to no account.
    const ids = last === undefined ? { after } : { after, upTo: last }
    const found = yield* compare(run, books(sql, ids, isFull))
    if (isFull) yield* markRead(sql, ids, found)
    accounts += Number(range?.accounts ?? 0)
    if (last === undefined) return accounts
    after = last
  }
})

const dueRows = rowsOf(Schema.Struct({ month: Schema.String, account_id: Schema.String, entries: Schema.BigInt }))

/** Least recently read month first. Skips accounts with a discrepancy, whose months stay due until repaired. */
const readDue = (sql: SqlClient.SqlClient, startedAt: Date, wrong: ReadonlySet<string>) => {
  const isDue = sql`read_at < ${startedAt} and account_id <> all (${[...wrong]}::text[])`
  return dueRows(sql`
    with next as (select month from ledger_months where ${isDue} order by read_at, month limit 1)
    select month::text, account_id, sum(entries)::bigint as entries
    from ledger_months where month = (select month from next) and ${isDue}
    group by month, account_id order by min(read_at), account_id limit ${accountsOfRange}`)
}

const reread = Effect.fnUntraced(function* (run: Run, startedAt: Date) {
  const wrong = new Set<string>()
  let left = rereadEntries
  while (left > 0 && wrong.size < maxListed) {
    const due = yield* readDue(run.sql, startedAt, wrong)
    if (due.length === 0) return
    let entries = 0
    const ids = due.filter((row, index) => {
      const isRead = index === 0 || entries < Math.min(left, rereadTogether)
      if (isRead) entries += Number(row.entries)
      return isRead
    })
    const found = yield* compare(
      run,
      closedBooks(
        run.sql,
        due[0]?.month ?? "",
        ids.map((row) => row.account_id)
      )
    )
    for (const { accountId } of found) wrong.add(accountId)
    left -= entries
  }
})

const startedRow = rowOf(Schema.Struct({ started_at: Schema.Date, is_first: Schema.Boolean }))

/** Takes no lock that searches need, and has no time limit. The first run reads everything, like a full run. */
const verifyAll = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  id: bigint,
  options: { readonly isFull: boolean }
): Effect.fn.Return<Findings, SqlError.SqlError> {
  const problems = { quota: 0, balance: 0, log: 0, closed: 0 }
  const discrepancies: Array<Discrepancy> = []
  const started = yield* startedRow(sql`
    select clock_timestamp() as started_at, not exists (select from ledger_months) as is_first`)
  const isFull = options.isFull || started?.is_first === true
  const run: Run = {
    sql,
    isFull,
    extendLease: sql`
      update ledger_verifications set lease_until = clock_timestamp() + ${leaseMinutes} * interval '1 minute'
      where id = ${id} and night is not null`,
    note: (found) => {
      for (const discrepancy of found) problems[kindOf(discrepancy)]++
      discrepancies.push(...found.slice(0, maxListed - discrepancies.length))
    }
  }
  const accounts = yield* compareAccounts(run)
  yield* compare(run, trialBooks(sql, isFull))
  if (!isFull) yield* reread(run, started?.started_at ?? new Date(0))
  return { accounts, isFull, problems, discrepancies }
})

export const verify = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  options: { readonly isFull: boolean; readonly night?: bigint }
): Effect.fn.Return<Findings, SqlError.SqlError> {
  // The operator waits for a run without a night, so no replica takes it over.
  const made = idRow(sql`insert into ledger_verifications default values returning id`)
  const id = options.night ?? (yield* made)?.id ?? 0n
  const findings = yield* verifyAll(sql, id, options)
  yield* finish(sql, id, findings)
  yield* deleteOldRuns(sql)
  return findings
})

const lastRow = rowOf(
  Schema.Struct({
    finished_at: Schema.Date,
    seconds: Schema.Number,
    accounts: Schema.BigInt,
    quota_problems: Schema.BigInt,
    balance_problems: Schema.BigInt,
    log_problems: Schema.BigInt,
    closed_problems: Schema.BigInt
  })
)

export const readLast = (sql: SqlClient.SqlClient) =>
  lastRow(sql`
    select finished_at, extract(epoch from finished_at - started_at)::float8 as seconds, accounts, quota_problems,
      balance_problems, log_problems, closed_problems
    from ledger_verifications where finished_at is not null order by finished_at desc limit 1`)
