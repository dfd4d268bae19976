import { Effect, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { type Discrepancy, discrepancyKinds } from "../../../services/credits/Ledger.ts"
import { rowOf, rowsOf } from "../Rows.ts"

const DiscrepancyRow = Schema.Struct({
  account_id: Schema.String,
  what: Schema.Literals(discrepancyKinds),
  expected: Schema.BigInt,
  found: Schema.BigInt
})
export const discrepancyRows = rowsOf(DiscrepancyRow)
const lockRow = rowOf(Schema.Struct({ taken: Schema.Boolean }))

/** IDs after `after`, up to and including `upTo`. Or a single account. */
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

/** Start of the retained log. As a subquery it is evaluated once per statement instead of once per row. */
const retainedSince = "(select queries_retained_since())"

const entryColumns = `e.id, e.account_id, e.allowance_id, e.kind, e.quota_credits, e.balance_credits, e.owed_credits,
  coalesce(e.corrects, e.cause) as hold_id, e.corrects, e.created_at`

/** Prevents other transactions from closing or reopening months until this one ends. */
export const lockClosedMonths = (sql: SqlClient.SqlClient) =>
  sql`select from pg_advisory_xact_lock(hashtext('quarry_ledger_months'))`

/** The last closed entry of each account, and when it was closed. */
const bounds = (sql: SqlClient.SqlClient, accounts: Accounts) => sql`
  select a.id as account_id, coalesce(max(m.last_id), 0) as last_id, coalesce(max(m.closed_at), '-infinity') as closed_at
  from accounts a left join ledger_months m on m.account_id = a.id and ${among(sql, accounts, "m.account_id")}
  where ${among(sql, accounts, "a.id")} group by a.id`

/**
 * Common table expressions for the comparisons: `entries` with the log (`logged`), and `sums`, the account's totals.
 * This variant reads every entry, including closed months.
 */
export const everything = (sql: SqlClient.SqlClient, accounts: Accounts) => sql`
  bounds as materialized (${bounds(sql, accounts)}), entries as materialized (
    select ${sql.literal(entryColumns)}, e.id > coalesce(b.last_id, 0) as is_new, true as is_compared,
      ledger_digest(e) as digest
    from ledger_entries e left join bounds b on b.account_id = e.account_id
    where ${among(sql, accounts, "e.account_id")}
  ), logged as materialized (
    select account_id, hold_id, sum(credits) as credits from queries
    where hold_id is not null and ${among(sql, accounts, "account_id")} group by 1, 2
  ), sums as (
    select account_id, allowance_id, id as last_id, quota_credits, balance_credits, owed_credits from entries
  )`

/**
 * The same from the closed months and the entries after them. Entries are read from some time before the accounts were
 * closed, because the database's clock may have been set back since. The log is read from slightly later, because a
 * search is logged after its entry gets its time.
 */
const sinceClosed = (sql: SqlClient.SqlClient, accounts: Accounts) => sql`
  bounds as materialized (${bounds(sql, accounts)}), entries as materialized (
    select e.*, e.is_new as is_compared from bounds b cross join lateral (
      select ${sql.literal(entryColumns)}, e.id > b.last_id as is_new,
        case when e.id > b.last_id then ledger_digest(e) end as digest
      from ledger_entries e
      where e.account_id = b.account_id and e.created_at >= b.closed_at - interval '25 hours' offset 0
    ) as e
  ), logged as materialized (
    select b.account_id, q.hold_id, sum(q.credits) as credits from bounds b cross join lateral (
      select hold_id, credits from queries
      where account_id = b.account_id and created_at >= b.closed_at - interval '24 hours' and hold_id is not null offset 0
    ) as q
    group by 1, 2
  ), sums as materialized (
    select account_id, allowance_id, id as last_id, quota_credits, balance_credits, owed_credits from entries where is_new
    union all
    select account_id, nullif(allowance_id, 0), last_id, quota_credits, balance_credits, owed_credits from ledger_months
    where ${among(sql, accounts, "account_id")}
  )`

/**
 * The charge of each hold, by its entries and by the log. A correction counts with the charge that it corrects.
 * Excludes closed charges and charges of months that retention has dropped from the log.
 */
export const charges = (sql: SqlClient.SqlClient) => sql`
  select coalesce(e.account_id, q.account_id) as account_id, coalesce(e.hold_id, q.hold_id) as hold_id,
    coalesce(e.credits, 0) as charged, coalesce(q.credits, 0) as logged
  from (
    select account_id, hold_id, sum(quota_credits - balance_credits) as credits,
      min(created_at) filter (where kind = 'search') as charged_at,
      bool_or(is_compared) filter (where kind = 'search') as is_compared
    from entries where kind = 'search' or corrects is not null group by 1, 2
  ) e
  full join logged q on q.hold_id = e.hold_id and q.account_id = e.account_id
  where case when e.charged_at is null then q.hold_id is not null
    else e.is_compared and (q.hold_id is not null or e.charged_at >= ${sql.literal(retainedSince)}) end`

export const quotas = (sql: SqlClient.SqlClient, allowances: ReturnType<typeof among>) => sql`
  select coalesce((select min(a.id) from accounts a where a.allowance_id = l.id), l.scope) as account_id, l.id,
    coalesce(e.credits, 0) as entered, coalesce(h.credits, 0) as held, l.used, l.quota
  from allowances l
  left join (
    select allowance_id, sum(quota_credits) as credits from sums where allowance_id is not null group by 1
  ) e on e.allowance_id = l.id
  left join (select allowance_id, sum(from_quota) as credits from holds group by 1) h on h.allowance_id = l.id
  where ${allowances}`

const quotaProblems = (sql: SqlClient.SqlClient, allowances: ReturnType<typeof among>) => sql`
  select account_id, 'credits used of the quota' as what, (entered + held)::bigint as expected, used as found
  from (${quotas(sql, allowances)}) as t where used <> entered + held
  union all
  select coalesce((select min(a.id) from accounts a where a.allowance_id = l.id), l.scope), 'credits used beyond the quota',
    quota, used
  from allowances l where used > quota and ${allowances}`

export const balances = (sql: SqlClient.SqlClient, accounts: Accounts) => sql`
  select coalesce(w.account_id, e.account_id, h.account_id) as account_id, coalesce(e.credits, 0) as entered,
    coalesce(h.credits, 0) as held, coalesce(w.balance, 0) as balance
  from (select * from wallets where ${among(sql, accounts, "account_id")}) w
  full join (select account_id, sum(balance_credits) as credits from sums group by 1) e on e.account_id = w.account_id
  full join (
    select account_id, sum(from_balance) as credits from holds where ${among(sql, accounts, "account_id")} group by 1
  ) h on h.account_id = coalesce(w.account_id, e.account_id)`

export const debts = (sql: SqlClient.SqlClient, accounts: Accounts) => sql`
  select w.account_id, coalesce(e.credits, 0) as entered, w.owed
  from (select * from wallets where ${among(sql, accounts, "account_id")}) w
  left join (select account_id, sum(owed_credits) as credits from sums group by 1) e on e.account_id = w.account_id`

/** Entries grouped by account, month and allowance, like `ledger_months`. */
const monthsOf = (condition: string) => `
  select account_id, date_trunc('month', created_at at time zone 'utc')::date as month,
    coalesce(allowance_id, 0) as allowance_id, count(*) as entries, sum(quota_credits) as quota_credits,
    sum(balance_credits) as balance_credits, sum(owed_credits) as owed_credits, sum(digest) as digest, max(id) as last_id
  from entries where ${condition} group by 1, 2, 3`

/** Counts closed months, and those whose entries still match their closed sums. */
export const closedMonths = (sql: SqlClient.SqlClient, months: ReturnType<typeof among>, entries: string) => sql`
  select account_id, count(*) as closed, count(*) filter (
    where m.entries = e.entries and m.quota_credits = e.quota_credits and m.balance_credits = e.balance_credits
      and m.owed_credits = e.owed_credits and m.digest = e.digest
  ) as found
  from (select * from ledger_months where ${months}) m
  full join (${sql.literal(monthsOf(entries))}) e using (account_id, month, allowance_id)
  group by 1`

const closedMonthsProblems = (...[sql, months, entries]: Parameters<typeof closedMonths>) => sql`
  select account_id, 'closed months of the ledger' as what, closed as expected, found
  from (${closedMonths(sql, months, entries)}) as t where found <> closed`

/** The account in the ID of an app's or a member's budget. Empty for a key's. */
const accountOfBudget = "split_part(s.origin_id, ':', 2)"

/**
 * Spending of keys with budgets, with held credits and what the log has for the key since the period began. It is not
 * known since when a key has had its budget, so the spending may be less than what was logged but never more. A search
 * is logged after its credits are held, so all searches of the period are included. `logged` is null if retention has
 * dropped some of them, or if the period has not begun by the database's clock. A rotated key has the id of its
 * original key. The log does not name apps and members, so their budgets are only compared with held credits.
 */
export const budgets = (sql: SqlClient.SqlClient, accounts: Accounts) => sql`
  with spending as materialized (
    select s.id, s.spent, s.origin_id, k.account_id, s.period_start,
      s.period_start <= clock_timestamp()
        and greatest(s.period_start, k.created_at) >= ${sql.literal(retainedSince)} as is_logged
    from key_spending s join api_keys k on k.id = s.origin_id where ${among(sql, accounts, "k.account_id")}
    union all
    select s.id, s.spent, s.origin_id, ${sql.literal(accountOfBudget)}, s.period_start, false
    from key_spending s
    where ${sql.literal(accountOfBudget)} <> '' and ${among(sql, accounts, accountOfBudget)}
  )
  select s.account_id, s.spent, coalesce(h.credits, 0) as held,
    case when s.is_logged then coalesce(q.credits, 0) end as logged
  from spending s
  left join (
    select u.id, sum(from_quota + from_balance) as credits
    from holds, unnest(array[key_spending_id, member_spending_id]) as u (id) group by 1
  ) h on h.id = s.id
  left join (
    select s.id, sum(q.credits) as credits
    from spending s
    join api_keys k on k.account_id = s.account_id and coalesce(k.origin_id, k.id) = s.origin_id
    join queries q on q.account_id = k.account_id and q.key_id = k.id
      and q.created_at >= s.period_start - interval '1 minute'
    where s.is_logged group by 1
  ) q on q.id = s.id`

/** Allowances of trials, whose scope is a mailbox. All other scopes are account ids. */
const isTrial = "l.scope like 'trial:%'"

/**
 * Compares the books of these accounts in one statement and therefore one snapshot: periods of paid plans, pack
 * balances, charges against the log, and budgets of keys. Closes the entries that it has read, except for accounts with
 * a discrepancy, and stores the sums for the incremental checks. The allowances of trials are in `trialBooks`.
 */
export const books = (sql: SqlClient.SqlClient, accounts: Accounts, isFull: boolean) => sql`
  with ${isFull ? everything(sql, accounts) : sinceClosed(sql, accounts)}, problems as materialized (
    ${quotaProblems(sql, sql.and([sql.literal(`not ${isTrial}`), among(sql, accounts, "l.scope")]))}
    union all
    select account_id, 'pack balance', (entered - held)::bigint, balance
    from (${balances(sql, accounts)}) as t where balance <> entered - held
    union all
    select account_id, 'credits owed', entered::bigint, owed from (${debts(sql, accounts)}) as t where owed <> entered
    union all
    select account_id, 'credits in the query log', sum(charged)::bigint, sum(logged)::bigint
    from (${charges(sql)}) as t where charged <> logged group by 1
    union all
    select account_id, 'credits spent of a key''s budget', least(greatest(spent, held), held + logged)::bigint, spent
    from (${budgets(sql, accounts)}) as t where spent < held or spent > held + logged
    ${
      isFull
        ? sql`union all ${closedMonthsProblems(sql, among(sql, accounts, "account_id"), "not is_new")}`
        : sql.literal("")
    }
  ), closed as (
    insert into ledger_months as m (
      account_id, month, allowance_id, entries, quota_credits, balance_credits, owed_credits, digest, last_id, closed_at, read_at
    )
    select e.*, statement_timestamp(), statement_timestamp()
    from (${sql.literal(monthsOf("is_new"))}) e join bounds using (account_id)
    where not exists (select from problems p where p.account_id = e.account_id)
    on conflict (account_id, month, allowance_id) do update set entries = m.entries + excluded.entries,
      quota_credits = m.quota_credits + excluded.quota_credits,
      balance_credits = m.balance_credits + excluded.balance_credits,
      owed_credits = m.owed_credits + excluded.owed_credits, digest = m.digest + excluded.digest,
      last_id = excluded.last_id, closed_at = excluded.closed_at
  ), checkpointed as (
    insert into ledger_checkpoints (account_id, entry_id, balance_credits, allowance_id, quota_credits, taken_at)
    select a.id, coalesce(max(s.last_id), 0), coalesce(sum(s.balance_credits), 0), a.allowance_id,
      coalesce(sum(s.quota_credits) filter (where s.allowance_id = a.allowance_id), 0), statement_timestamp()
    from accounts a left join sums s on s.account_id = a.id
    where ${among(sql, accounts, "a.id")} group by a.id
    on conflict (account_id) do update set entry_id = excluded.entry_id, balance_credits = excluded.balance_credits,
      allowance_id = excluded.allowance_id, quota_credits = excluded.quota_credits, taken_at = excluded.taken_at
  )
  select account_id, what, expected, found from problems order by 1, 2`

/** Except for accounts with a discrepancy. */
export const markRead = (sql: SqlClient.SqlClient, accounts: Accounts, found: ReadonlyArray<Discrepancy>) => sql`
  update ledger_months set read_at = statement_timestamp()
  where ${among(sql, accounts, "account_id")} and account_id <> all (${found.map(({ accountId }) => accountId)}::text[])`

/** Compares the allowances of trials. Several accounts may have used one in succession, so no id range covers it. */
export const trialBooks = (sql: SqlClient.SqlClient, isFull: boolean) => sql`
  with trials as materialized (select id from allowances l where ${sql.literal(isTrial)}),
  bounds as materialized (${bounds(sql, {})}), sums as (
    ${
      isFull
        ? sql`select allowance_id, quota_credits from ledger_entries where allowance_id in (select id from trials)`
        : sql`
          select e.* from bounds b cross join lateral (
            select allowance_id, quota_credits from ledger_entries
            where account_id = b.account_id and created_at >= b.closed_at - interval '25 hours' and id > b.last_id offset 0
          ) as e
          where allowance_id in (select id from trials)
          union all
          select allowance_id, quota_credits from ledger_months where allowance_id in (select id from trials)`
    }
  )
  ${quotaProblems(sql, sql.and([sql.literal(isTrial)]))}`

/**
 * Rereads the entries of a closed month for the given accounts, and compares them with the closed sums and with the
 * log, if it is retained. This finds faults that occur after closing. Corrections of a charge may be in later months,
 * so they are looked up where something differs.
 */
export const closedBooks = (sql: SqlClient.SqlClient, month: string, accountIds: ReadonlyArray<string>) => sql`
  with span as (
    select ${month}::date::timestamp at time zone 'utc' as since,
      (${month}::date + interval '1 month')::timestamp at time zone 'utc' as until
  ), bounds as materialized (
    select account_id, max(last_id) as last_id from ledger_months where account_id = any (${accountIds}::text[]) group by 1
  ), entries as materialized (
    select e.* from span, bounds b cross join lateral (
      select e.id, e.account_id, e.allowance_id, e.kind, e.quota_credits, e.balance_credits, e.owed_credits,
        e.cause as hold_id, null::text as corrects, e.created_at, ledger_digest(e) as digest,
        e.created_at >= span.since and e.created_at < span.until and e.id <= b.last_id as is_compared
      from ledger_entries e
      where e.account_id = b.account_id and e.created_at >= span.since - interval '15 minutes'
        and e.created_at < span.until + interval '15 minutes' offset 0
    ) as e
  ), logged as materialized (
    select b.account_id, q.hold_id, sum(q.credits) as credits from span, bounds b cross join lateral (
      select hold_id, credits from queries
      where account_id = b.account_id and created_at >= span.since
        and created_at < span.until + interval '15 minutes' and hold_id is not null offset 0
    ) as q
    group by 1, 2
  ), wrong as materialized (
    select * from (${charges(sql)}) as t where charged <> logged
  ), corrected as (
    select w.account_id, e.corrects as hold_id, sum(e.credits) as credits
    from (select distinct account_id from wrong) w cross join lateral (
      select corrects, quota_credits - balance_credits as credits from ledger_entries
      where account_id = w.account_id and corrects is not null offset 0
    ) as e
    group by 1, 2
  ), problems as materialized (
    select account_id, 'credits in the query log' as what, sum(charged + coalesce(c.credits, 0))::bigint as expected,
      sum(logged)::bigint as found
    from wrong w left join corrected c using (account_id, hold_id)
    where charged + coalesce(c.credits, 0) <> logged group by 1
    union all
    ${closedMonthsProblems(
      sql,
      sql`month = ${month}::date and account_id = any (${accountIds}::text[])`,
      "is_compared"
    )}
  ), read as (
    update ledger_months m set read_at = statement_timestamp()
    where m.month = ${month}::date and m.account_id = any (${accountIds}::text[])
      and not exists (select from problems p where p.account_id = m.account_id)
  )
  select account_id, what, expected, found from problems order by 1, 2`

export type ProblemKind = "quota" | "balance" | "log" | "closed"

export const kindOf = ({ what }: Discrepancy): ProblemKind => {
  if (what === "pack balance" || what === "credits owed") return "balance"
  if (what === "closed months of the ledger") return "closed"
  return what === "credits in the query log" ? "log" : "quota"
}

export const toDiscrepancies = (rows: ReadonlyArray<typeof DiscrepancyRow.Type>): ReadonlyArray<Discrepancy> =>
  rows.map((row) => ({
    accountId: row.account_id,
    what: row.what,
    expected: Number(row.expected),
    found: Number(row.found)
  }))

/** Entries compared with the log per incremental check, which takes a few milliseconds. */
const newestEntries = 1_000
/** Accounts among those whose credits are recomputed, chosen at random. */
const newestAccounts = 10
/** Accounts without a checkpoint and with more usage than this are left to the nightly run. */
const mostRecomputed = 100_000

/**
 * Compares the newest entries in one statement and therefore one snapshot. An entry has the start time of its
 * transaction: its log rows are newer, and an entry after a checkpoint is at most minutes older than the checkpoint.
 *
 * An account's credits are recomputed from its checkpoint and later entries, and the checkpoint advances. The nightly
 * run covers the rest: allowances of trials, whose entries may belong to several accounts, and a period that the
 * account returned to after its checkpoint.
 */
const newest = (sql: SqlClient.SqlClient) => sql`
  with recent as materialized (
    select * from (
      select account_id, kind, cause, quota_credits - balance_credits as credits, created_at
      from ledger_entries order by id desc limit ${newestEntries}
    ) as t
    where created_at >= ${sql.literal(retainedSince)}
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

/** Costs the same for books of any size. Undefined while another replica is checking. */
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
