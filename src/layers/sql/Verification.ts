import { Effect, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { type Discrepancy, discrepancyKinds } from "../../services/Ledger.ts"
import { rowOf, rowsOf } from "./Rows.ts"
import { unlimited } from "./StatementLimit.ts"

const DiscrepancyRow = Schema.Struct({
  account_id: Schema.String,
  what: Schema.Literals(discrepancyKinds),
  expected: Schema.BigInt,
  found: Schema.BigInt
})
const discrepancyRows = rowsOf(DiscrepancyRow)
const lockRow = rowOf(Schema.Struct({ taken: Schema.Boolean }))

/** Accounts by their ids: those after one and up to another, or one alone. */
export interface Accounts {
  readonly after?: string
  readonly upTo?: string
  readonly only?: string
}

const among = (sql: SqlClient.SqlClient, { after, only, upTo }: Accounts, column: string) => {
  const id = sql.literal(column)
  return sql.and([
    ...(after === undefined ? [] : [sql`${id} > ${after}`]),
    ...(upTo === undefined ? [] : [sql`${id} <= ${upTo}`]),
    ...(only === undefined ? [] : [sql`${id} = ${only}`]),
    sql.literal("true")
  ])
}

/**
 * The charge of each hold, by the entries and by the log. A correction counts with the charge that it corrects. Charges
 * of months that retention has dropped from the log are left out.
 */
export const charges = (sql: SqlClient.SqlClient, accounts: Accounts) => sql`
  select coalesce(e.account_id, q.account_id) as account_id, coalesce(e.hold_id, q.hold_id) as hold_id,
    coalesce(e.credits, 0) as charged, coalesce(q.credits, 0) as logged
  from (
    select account_id, coalesce(corrects, cause) as hold_id, sum(quota_credits - balance_credits) as credits,
      min(created_at) filter (where kind = 'search') as charged_at
    from ledger_entries
    where (kind = 'search' or corrects is not null) and ${among(sql, accounts, "account_id")}
    group by 1, 2
  ) e
  full join (
    select hold_id, account_id, sum(credits) as credits
    from queries where hold_id is not null and ${among(sql, accounts, "account_id")} group by 1, 2
  ) q on q.hold_id = e.hold_id and q.account_id = e.account_id
  where q.hold_id is not null or e.charged_at >= queries_retained_since()`

/** The quotas of the allowances that a condition on `l` selects. `entries` are those that can belong to one of them. */
export const quotas = (
  sql: SqlClient.SqlClient,
  allowances: ReturnType<typeof among>,
  entries: ReturnType<typeof among>
) => sql`
  select coalesce((select min(a.id) from accounts a where a.allowance_id = l.id), l.scope) as account_id, l.id,
    coalesce(e.credits, 0) as entered, coalesce(h.credits, 0) as held, l.used, l.quota
  from allowances l
  left join (
    select allowance_id, sum(quota_credits) as credits from ledger_entries
    where allowance_id is not null and ${entries} group by 1
  ) e on e.allowance_id = l.id
  left join (select allowance_id, sum(from_quota) as credits from holds group by 1) h on h.allowance_id = l.id
  where ${allowances}`

const quotaProblems = (statement: ReturnType<typeof quotas>, sql: SqlClient.SqlClient) => sql`
  select account_id, 'credits used of the quota' as what, (entered + held)::bigint as expected, used as found
  from (${statement}) as t where used <> entered + held
  union all
  select account_id, 'credits used beyond the quota', quota, used from (${statement}) as t where used > quota`

/** Pack balances, beside the sums of entries and holds. */
export const balances = (sql: SqlClient.SqlClient, accounts: Accounts) => sql`
  select coalesce(w.account_id, e.account_id, h.account_id) as account_id, coalesce(e.credits, 0) as entered,
    coalesce(h.credits, 0) as held, coalesce(w.balance, 0) as balance
  from (select * from wallets where ${among(sql, accounts, "account_id")}) w
  full join (
    select account_id, sum(balance_credits) as credits from ledger_entries
    where ${among(sql, accounts, "account_id")} group by 1
  ) e on e.account_id = w.account_id
  full join (
    select account_id, sum(from_balance) as credits from holds where ${among(sql, accounts, "account_id")} group by 1
  ) h on h.account_id = coalesce(w.account_id, e.account_id)`

/** The debts of accounts, beside the sums of their entries. */
export const debts = (sql: SqlClient.SqlClient, accounts: Accounts) => sql`
  select w.account_id, coalesce(e.credits, 0) as entered, w.owed
  from (select * from wallets where ${among(sql, accounts, "account_id")}) w
  left join (
    select account_id, sum(owed_credits) as credits from ledger_entries
    where owed_credits <> 0 and ${among(sql, accounts, "account_id")} group by 1
  ) e on e.account_id = w.account_id`

/**
 * The spending of keys with budgets, beside what is held of it and what the log has of the key since the period began.
 * Nobody knows since when a key had its budget, so that less may be spent than was logged, and never more. A search is
 * logged after its credits are held, so that those of the period are all among them. `logged` is null where retention has
 * dropped some of them, or the period has not begun by the database's clock. A rotated key has the id of its origin.
 */
export const budgets = (sql: SqlClient.SqlClient, accounts: Accounts) => sql`
  with spending as materialized (
    select s.id, s.spent, s.origin_id, k.account_id, s.period_start,
      s.period_start <= clock_timestamp()
        and greatest(s.period_start, k.created_at) >= queries_retained_since() as is_logged
    from key_spending s join api_keys k on k.id = s.origin_id where ${among(sql, accounts, "k.account_id")}
  )
  select s.account_id, s.spent, coalesce(h.credits, 0) as held,
    case when s.is_logged then coalesce(q.credits, 0) end as logged
  from spending s
  left join (
    select key_spending_id, sum(from_quota + from_balance) as credits from holds
    where key_spending_id is not null group by 1
  ) h on h.key_spending_id = s.id
  left join (
    select s.id, sum(q.credits) as credits
    from spending s
    join api_keys k on k.account_id = s.account_id and coalesce(k.origin_id, k.id) = s.origin_id
    join queries q on q.account_id = k.account_id and q.key_id = k.id
      and q.created_at >= s.period_start - interval '1 minute'
    where s.is_logged group by 1
  ) q on q.id = s.id`

/** The scopes of the trial's allowances, which belong to addresses. All other scopes are ids of accounts. */
const isTrial = "l.scope like 'trial:%'"

/**
 * Compares the books of these accounts in one statement, and so one snapshot: periods of paid plans, pack balances, and
 * charges with the log, and the budgets of keys. The trial's allowances are in `trialBooks`.
 */
export const books = (sql: SqlClient.SqlClient, accounts: Accounts = {}) => sql`
  ${quotaProblems(
    quotas(
      sql,
      sql.and([sql.literal(`not ${isTrial}`), among(sql, accounts, "l.scope")]),
      among(sql, accounts, "account_id")
    ),
    sql
  )}
  union all
  select account_id, 'pack balance', (entered - held)::bigint, balance
  from (${balances(sql, accounts)}) as t where balance <> entered - held
  union all
  select account_id, 'credits owed', entered::bigint, owed from (${debts(sql, accounts)}) as t where owed <> entered
  union all
  select account_id, 'credits in the query log', sum(charged)::bigint, sum(logged)::bigint
  from (${charges(sql, accounts)}) as t where charged <> logged group by 1
  union all
  select account_id, 'credits spent of a key''s budget', least(greatest(spent, held), held + logged)::bigint, spent
  from (${budgets(sql, accounts)}) as t where spent < held or spent > held + logged
  order by 1, 2`

/** The trial's allowances. Several accounts may have used one, one after the other, so that no range of ids has it. */
export const trialBooks = (sql: SqlClient.SqlClient) =>
  quotaProblems(
    quotas(
      sql,
      sql.and([sql.literal(isTrial)]),
      sql.and([sql.literal(`allowance_id in (select l.id from allowances l where ${isTrial})`)])
    ),
    sql
  )

/** Accounts of one statement: so much the database has in its memory at once, and no snapshot lives for long. */
const accountsOfRange = 1_000
/** Discrepancies that a run lists. It counts all of them. */
const maxListed = 10_000

const rangeRow = rowOf(Schema.Struct({ last: Schema.NullOr(Schema.String), accounts: Schema.BigInt }))

const readRange = (sql: SqlClient.SqlClient, after: string) =>
  rangeRow(sql`
    select max(id) as last, count(*) as accounts
    from (select id from accounts where id > ${after} order by id limit ${accountsOfRange}) as t`)

/** Remembers the sums of these accounts' entries, for the checks between two runs. */
const takeCheckpoints = (sql: SqlClient.SqlClient, accounts: Accounts) => sql`
  insert into ledger_checkpoints as c (account_id, entry_id, balance_credits, allowance_id, quota_credits, taken_at)
  select a.id, coalesce(max(e.id), 0), coalesce(sum(e.balance_credits), 0), a.allowance_id,
    coalesce(sum(e.quota_credits) filter (where e.allowance_id = a.allowance_id), 0), statement_timestamp()
  from accounts a left join ledger_entries e on e.account_id = a.id
  where ${among(sql, accounts, "a.id")} group by a.id
  on conflict (account_id) do update set entry_id = excluded.entry_id, balance_credits = excluded.balance_credits,
    allowance_id = excluded.allowance_id, quota_credits = excluded.quota_credits, taken_at = excluded.taken_at`

/** The books that disagree: used credits of a quota, pack balances, or the query log. */
export type ProblemKind = "quota" | "balance" | "log"

/** The result of a run. */
export interface Findings {
  readonly accounts: number
  readonly problems: Readonly<Record<ProblemKind, number>>
  /** At most the first 10,000. */
  readonly discrepancies: ReadonlyArray<Discrepancy>
}

/**
 * Compares all books, range by range, so that memory stays bounded however many accounts there are. It runs beside
 * searches: it takes no lock that they need. A range has no time limit, because an account may have millions of entries.
 */
export const verifyAll = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  afterRange: () => Effect.Effect<unknown, SqlError.SqlError>
): Effect.fn.Return<Findings, SqlError.SqlError> {
  const problems = { quota: 0, balance: 0, log: 0 }
  const discrepancies: Array<Discrepancy> = []
  const note = (found: ReadonlyArray<Discrepancy>) => {
    for (const it of found) problems[kindOf(it)]++
    discrepancies.push(...found.slice(0, maxListed - discrepancies.length))
  }
  let accounts = 0
  let after = ""
  while (true) {
    const range = yield* readRange(sql, after)
    const last = range?.last ?? undefined
    // The last range has no end: it has what belongs to no account, too.
    const ids: Accounts = last === undefined ? { after } : { after, upTo: last }
    note(toDiscrepancies(yield* unlimited(sql, discrepancyRows(books(sql, ids)))))
    yield* unlimited(sql, takeCheckpoints(sql, ids))
    accounts += Number(range?.accounts ?? 0)
    yield* afterRange()
    if (last === undefined) break
    after = last
  }
  note(toDiscrepancies(yield* unlimited(sql, discrepancyRows(trialBooks(sql)))))
  return { accounts, problems, discrepancies }
})

export const kindOf = ({ what }: Discrepancy): ProblemKind => {
  if (what === "pack balance" || what === "credits owed") return "balance"
  return what === "credits in the query log" ? "log" : "quota"
}

const toDiscrepancies = (rows: ReadonlyArray<typeof DiscrepancyRow.Type>): ReadonlyArray<Discrepancy> =>
  rows.map((row) => ({
    accountId: row.account_id,
    what: row.what,
    expected: Number(row.expected),
    found: Number(row.found)
  }))

/** Entries that one check of the newest compares with the log, which takes some milliseconds. */
const newestEntries = 1_000
/** Accounts among those, chosen at random, whose credits it recomputes. */
const newestAccounts = 10
/** Accounts without a checkpoint that used more have too many entries to be recomputed: they wait for the night. */
const mostRecomputed = 100_000

/**
 * Compares the newest entries in one statement, and so one snapshot. An entry has the time of its transaction's start:
 * its log rows are younger, and an entry after a checkpoint is at most minutes older than it.
 *
 * An account's credits are recomputed from its checkpoint and the entries since, and the checkpoint moves on. Left to
 * the nightly run are the trial's allowances, whose entries may be of several accounts, and a period that the account
 * came back to after its checkpoint.
 */
const newest = (sql: SqlClient.SqlClient) => sql`
  with recent as materialized (
    select account_id, kind, cause, quota_credits - balance_credits as credits, created_at
    from ledger_entries where created_at >= queries_retained_since() order by id desc limit ${newestEntries}
  ), span as (
    select account_id, min(created_at) as since from recent where kind = 'search' group by 1
  ), corrected as (
    select e.corrects, sum(e.quota_credits - e.balance_credits) as credits
    from span s join ledger_entries e on e.account_id = s.account_id and e.created_at >= s.since
    where e.corrects is not null group by 1
  ), logged as (
    select q.hold_id, q.account_id, sum(q.credits) as credits
    from span s join queries q on q.account_id = s.account_id and q.created_at >= s.since
    where q.hold_id is not null group by 1, 2
  ), watched as materialized (
    select a.id, a.allowance_id, l.used, w.balance, c.entry_id, c.taken_at, coalesce(c.balance_credits, 0) as balance_sum,
      case when c.allowance_id = l.id then c.quota_credits else 0 end as quota_sum,
      l.scope = a.id and (c.account_id is null or c.allowance_id = l.id or l.period_start >= c.taken_at) as has_quota
    from (select distinct account_id from recent) r
    join accounts a on a.id = r.account_id join wallets w on w.account_id = a.id
    left join allowances l on l.id = a.allowance_id
    left join ledger_checkpoints c on c.account_id = a.id
    where c.account_id is not null or l.used <= ${mostRecomputed}
    order by random() limit ${newestAccounts}
  ), summed as materialized (
    select w.id, w.allowance_id, w.used, w.balance, w.has_quota, coalesce(max(e.id), w.entry_id, 0) as entry_id,
      w.balance_sum + coalesce(sum(e.balance_credits), 0) as balance_sum,
      w.quota_sum + coalesce(sum(e.quota_credits) filter (where e.allowance_id = w.allowance_id), 0) as quota_sum
    from watched w left join ledger_entries e on e.account_id = w.id
      and e.created_at >= coalesce(w.taken_at - interval '15 minutes', '-infinity') and e.id > coalesce(w.entry_id, 0)
    group by w.id, w.allowance_id, w.used, w.balance, w.has_quota, w.entry_id, w.balance_sum, w.quota_sum
  ), held as (
    select h.account_id, sum(h.from_balance) as balance,
      sum(h.from_quota) filter (where h.allowance_id = s.allowance_id) as quota
    from holds h join summed s on s.id = h.account_id group by 1
  ), moved as (
    insert into ledger_checkpoints as c (account_id, entry_id, balance_credits, allowance_id, quota_credits, taken_at)
    select id, entry_id, balance_sum, allowance_id, quota_sum, statement_timestamp() from summed where has_quota
    order by id
    on conflict (account_id) do update set entry_id = excluded.entry_id, balance_credits = excluded.balance_credits,
      allowance_id = excluded.allowance_id, quota_credits = excluded.quota_credits, taken_at = excluded.taken_at
    where c.entry_id < excluded.entry_id
  )
  select s.id as account_id, 'credits used of the quota' as what, (s.quota_sum + coalesce(h.quota, 0))::bigint as expected,
    s.used as found
  from summed s left join held h on h.account_id = s.id
  where s.has_quota and s.used <> s.quota_sum + coalesce(h.quota, 0)
  union all
  select s.id, 'pack balance', (s.balance_sum - coalesce(h.balance, 0))::bigint, s.balance
  from summed s left join held h on h.account_id = s.id where s.balance <> s.balance_sum - coalesce(h.balance, 0)
  union all
  select r.account_id, 'credits in the query log', sum(r.credits + coalesce(c.credits, 0))::bigint,
    sum(coalesce(q.credits, 0))::bigint
  from recent r
  left join logged q on q.hold_id = r.cause and q.account_id = r.account_id
  left join corrected c on c.corrects = r.cause
  where r.kind = 'search' and r.credits + coalesce(c.credits, 0) <> coalesce(q.credits, 0)
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
