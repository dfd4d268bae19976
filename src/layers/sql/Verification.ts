import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import type { Discrepancy } from "../../services/Ledger.ts"
import { unlimited } from "./StatementLimit.ts"

interface Row {
  readonly account_id: string
  readonly what: string
  readonly expected: bigint
  readonly found: bigint
}

/** One statement, and so one snapshot. A month of the log that retention has dropped is not compared. */
export const books = (sql: SqlClient.SqlClient) => sql<Row>`
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
 * What in the books does not add up (I1, I2). It is right while searches run, and in nobody's way: it takes no lock that
 * they need. At millions of searches it takes as long as it takes.
 */
export const discrepancies = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient
): Effect.fn.Return<ReadonlyArray<Discrepancy>, SqlError.SqlError> {
  const rows = yield* unlimited(sql, books(sql))
  return rows.map((row) => ({
    accountId: row.account_id,
    what: row.what,
    expected: Number(row.expected),
    found: Number(row.found)
  }))
})
