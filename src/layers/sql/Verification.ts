import { Effect, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import type { Discrepancy } from "../../services/Ledger.ts"
import { rowOf, rowsOf } from "./Rows.ts"
import { unlimited } from "./StatementLimit.ts"

const DiscrepancyRow = Schema.Struct({
  account_id: Schema.String,
  what: Schema.String,
  expected: Schema.BigInt,
  found: Schema.BigInt
})
const discrepancyRows = rowsOf(DiscrepancyRow)
const lockRow = rowOf(Schema.Struct({ taken: Schema.Boolean }))

/**
 * Compares the whole of the books in one statement, and so one snapshot. Entries of months that retention has dropped
 * from the log are not compared with it.
 */
export const books = (sql: SqlClient.SqlClient) => sql`
  with entry_quota as (
    select allowance_id, sum(quota_credits) as credits from ledger_entries where allowance_id is not null group by 1
  ), held_quota as (
    select allowance_id, sum(from_quota) as credits from holds group by 1
  ), entry_balance as (
    select account_id, sum(balance_credits) as credits from ledger_entries group by 1
  ), held_balance as (
    select account_id, sum(from_balance) as credits from holds group by 1
  ), logged as (
    select hold_id, account_id, sum(credits) as credits from queries where hold_id is not null group by 1, 2
  ), charged as (
    select e.account_id as entry_account, q.account_id as query_account,
      coalesce(e.quota_credits - e.balance_credits, 0) as charged, coalesce(q.credits, 0) as logged
    from (select * from ledger_entries where kind = 'search') e
    full join logged q on q.hold_id = e.cause and q.account_id = e.account_id
    where q.hold_id is not null or e.created_at >= queries_retained_since()
  )
  select coalesce((select min(a.id) from accounts a where a.allowance_id = l.id), l.scope) as account_id,
    'credits used of the quota' as what,
    (coalesce(e.credits, 0) + coalesce(h.credits, 0))::bigint as expected, l.used as found
  from allowances l
  left join entry_quota e on e.allowance_id = l.id
  left join held_quota h on h.allowance_id = l.id
  where l.used <> coalesce(e.credits, 0) + coalesce(h.credits, 0)
  union all
  select l.scope, 'credits used beyond the quota', l.quota, l.used from allowances l where l.used > l.quota
  union all
  select coalesce(w.account_id, e.account_id, h.account_id), 'pack balance',
    (coalesce(e.credits, 0) - coalesce(h.credits, 0))::bigint, coalesce(w.balance, 0)
  from wallets w
  full join entry_balance e on e.account_id = w.account_id
  full join held_balance h on h.account_id = coalesce(w.account_id, e.account_id)
  where coalesce(w.balance, 0) <> coalesce(e.credits, 0) - coalesce(h.credits, 0)
  union all
  select coalesce(entry_account, query_account), 'credits in the query log', sum(charged)::bigint, sum(logged)::bigint
  from charged
  where charged <> logged
  group by 1
  order by 1, 2`

/**
 * Everything in the books that does not add up (I1, I2). It can run beside searches: it takes no lock that they need.
 * It has no time limit, because at millions of searches it takes minutes.
 */
export const discrepancies = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient
): Effect.fn.Return<ReadonlyArray<Discrepancy>, SqlError.SqlError> {
  return toDiscrepancies(yield* unlimited(sql, discrepancyRows(books(sql))))
})

const toDiscrepancies = (rows: ReadonlyArray<typeof DiscrepancyRow.Type>): ReadonlyArray<Discrepancy> =>
  rows.map((row) => ({
    accountId: row.account_id,
    what: row.what,
    expected: Number(row.expected),
    found: Number(row.found)
  }))

/** Entries that one check of the newest compares with the log, which takes some milliseconds. */
const newestEntries = 1_000
/** Accounts among those, chosen at random, whose quota it recomputes from all entries of their period. */
const newestAccounts = 10
/** Accounts that used more of their quota have too many entries to be recomputed every minute. */
const mostRecomputed = 100_000

/**
 * Compares the newest entries in one statement, and so one snapshot. An entry has the time of its transaction's start,
 * and its log rows are younger. The day before the period is for replicas whose clock is ahead of the database's.
 *
 * Two things are left to `ledger verify`: a trial's allowance, because its entries may be of several accounts that had
 * the address one after the other, and the pack balance, which needs all entries of an account.
 */
const newest = (sql: SqlClient.SqlClient) => sql`
  with recent as materialized (
    select account_id, allowance_id, kind, cause, quota_credits - balance_credits as credits, created_at
    from ledger_entries where created_at >= queries_retained_since() order by id desc limit ${newestEntries}
  ), span as (
    select account_id, min(created_at) as since from recent where kind = 'search' group by 1
  ), logged as (
    select q.hold_id, q.account_id, sum(q.credits) as credits
    from span s join queries q on q.account_id = s.account_id and q.created_at >= s.since
    where q.hold_id is not null group by 1, 2
  ), watched as (
    select l.id, l.scope, l.period_start, l.used
    from (select distinct account_id from recent) r
    join accounts a on a.id = r.account_id join allowances l on l.id = a.allowance_id and l.scope = a.id
    where l.used <= ${mostRecomputed} order by random() limit ${newestAccounts}
  ), recomputed as (
    select w.scope as account_id, w.used,
      coalesce((select sum(e.quota_credits) from ledger_entries e
        where e.account_id = w.scope and e.created_at >= w.period_start - interval '1 day' and e.allowance_id = w.id), 0)
      + coalesce((select sum(h.from_quota) from holds h where h.allowance_id = w.id), 0) as expected
    from watched w
  )
  select account_id, 'credits used of the quota' as what, expected::bigint as expected, used as found
  from recomputed where used <> expected
  union all
  select r.account_id, 'credits in the query log', sum(r.credits)::bigint, sum(coalesce(q.credits, 0))::bigint
  from recent r left join logged q on q.hold_id = r.cause and q.account_id = r.account_id
  where r.kind = 'search' and r.credits <> coalesce(q.credits, 0)
  group by 1`

/**
 * Everything in the newest entries that does not add up, at a cost that does not grow with the books. Undefined while
 * another replica does the same.
 */
export const newestDiscrepancies = (
  sql: SqlClient.SqlClient
): Effect.Effect<ReadonlyArray<Discrepancy> | undefined, SqlError.SqlError> =>
  sql.withTransaction(
    Effect.gen(function* () {
      const lock = yield* lockRow(
        sql`select pg_try_advisory_xact_lock(hashtext('quarry_newest_discrepancies')) as taken`
      )
      return lock?.taken === true ? toDiscrepancies(yield* discrepancyRows(newest(sql))) : undefined
    })
  )
