import type { Pool, PoolClient } from "pg"
import type { Search } from "./Search.ts"

/** The credits that the account could spend when the request arrived, and the credits that were reserved. */
export interface Hold {
  readonly id: string
  readonly accountId: string
  readonly plan: string
  readonly quota: number
  readonly used: number
  readonly balance: number
  readonly resetsAt: number
  readonly fromQuota: number
  readonly fromBalance: number
}

/** The account's state if it cannot pay. */
export type Exceeded = Omit<Hold, "id" | "fromQuota" | "fromBalance">

export interface Logged {
  readonly id: string
  readonly keyId: string
  readonly batchId: string | null
  readonly search: Search
  readonly outcome: "ok" | "upstream_error" | "upstream_timeout"
  readonly cached: boolean
  readonly resultCount: number
  readonly durationMs: number
}

interface AccountRow {
  readonly plan: string
  readonly quota: string
  readonly used: string
  readonly balance: string
  readonly period_end: Date
  readonly from_quota: string | null
}

/** An expired quota restarts with the calendar month, in the statement that reads it. */
const before = `
  select id, plan, quota, balance,
    case when period_end <= now() then 0 else used end as used,
    case when period_end <= now() then date_trunc('month', now(), 'utc') + interval '1 month' else period_end end as period_end
  from accounts where id = $1 for update`

/** Reserves credits if there are enough, the quota first, and returns the account's previous state. */
const debit = `
  update accounts a
  set used = b.used + least($2, b.quota - b.used),
    balance = b.balance - ($2 - least($2, b.quota - b.used)),
    period_end = b.period_end
  from before b where a.id = b.id and b.quota - b.used + b.balance >= $2
  returning b.plan, b.quota, b.used, b.balance, b.period_end, least($2, b.quota - b.used) as from_quota`

const lease = "now() + interval '105 seconds'"

// Charging a held credit does not update the account's row again. Only returned credits do.
const logColumns = `
  id, account_id, key_id, batch_id, target, query, geo, locale, page, num, safe, source, outcome, credits, cached,
  result_count, duration_ms`
const logRows = `
  select id, $1, key_id, batch_id, target, query, geo, locale, page, num, safe, source, outcome, 1, cached, result_count,
    duration_ms
  from json_to_recordset($2::json) as r (
    id text, key_id text, batch_id text, target text, query text, geo text, locale text, page integer, num integer,
    safe text, source text, outcome text, cached boolean, result_count integer, duration_ms bigint
  )`

// Each statement has a name, so that a connection parses and plans it once.
const sql = {
  debit: { name: "debit", text: `with before as (${before}) ${debit}` },
  account: { name: "account", text: before },
  hold: {
    name: "hold",
    text: `insert into holds (id, account_id, from_quota, from_balance, expires_at) values ($1, $2, $3, $4, ${lease})`
  },
  unhold: { name: "unhold", text: "delete from holds where id = $1" },
  enter: {
    name: "enter",
    text: "insert into ledger_entries (account_id, quota_credits, balance_credits, cause) values ($1, $2, $3, $4)"
  },
  giveBack: {
    name: "giveBack",
    text: "update accounts set used = used - $2, balance = balance + $3 where id = $1"
  },
  log: { name: "log", text: `insert into queries (${logColumns}) ${logRows}` },
  debitAndHold: {
    name: "debitAndHold",
    text: `
      with before as (${before}), debited as (${debit}), held as (
        insert into holds (id, account_id, from_quota, from_balance, expires_at)
        select $3, $1, from_quota, $2 - from_quota, ${lease} from debited
      )
      select b.plan, b.quota, b.used, b.balance, b.period_end, d.from_quota from before b left join debited d on true`
  },
  settleAtOnce: {
    name: "settleAtOnce",
    text: `
      with ended as (delete from holds where id = $3 returning id), entered as (
        insert into ledger_entries (account_id, quota_credits, balance_credits, cause) select $1, $4, $5, id from ended
      ), given_back as (
        update accounts set used = used - $6, balance = balance + $7 where id = $1 and ($6::bigint > 0 or $7::bigint > 0)
      ), logged as (
        insert into queries (${logColumns}) ${logRows} where exists (select from ended)
      )
      select id from ended`
  }
} as const

const toAccount = (accountId: string, row: AccountRow): Exceeded => ({
  accountId,
  plan: row.plan,
  quota: Number(row.quota),
  used: Number(row.used),
  balance: Number(row.balance),
  resetsAt: row.period_end.getTime()
})

const toHold = (id: string, accountId: string, credits: number, row: AccountRow): Hold => ({
  id,
  ...toAccount(accountId, row),
  fromQuota: Number(row.from_quota),
  fromBalance: credits - Number(row.from_quota)
})

const toRow = ({ batchId, cached, durationMs, id, keyId, outcome, resultCount, search }: Logged) => ({
  id,
  key_id: keyId,
  batch_id: batchId,
  ...search,
  outcome,
  cached,
  result_count: resultCount,
  duration_ms: durationMs
})

/** Charges the quota first, and returns credits to the balance first. */
const division = (hold: Hold, charged: number) => {
  const unspent = hold.fromQuota + hold.fromBalance - charged
  const toBalance = Math.min(unspent, hold.fromBalance)
  const toQuota = unspent - toBalance
  return { quota: hold.fromQuota - toQuota, balance: hold.fromBalance - toBalance, toQuota, toBalance }
}

export interface Ledger {
  readonly reserve: (holdId: string, accountId: string, credits: number) => Promise<Hold | Exceeded>
  /** Charges one credit for each entry and returns the rest. Fails if the lease has expired. */
  readonly settle: (hold: Hold, logged: ReadonlyArray<Logged>) => Promise<void>
}

/** One transaction to debit and one to settle, each a statement at a time: nine round trips and two commits a search. */
export const transactions = (pool: Pool): Ledger => {
  const transaction = async <A>(run: (client: PoolClient) => Promise<A>): Promise<A> => {
    const client = await pool.connect()
    try {
      await client.query("BEGIN")
      const result = await run(client)
      await client.query("COMMIT")
      return result
    } catch (error) {
      await client.query("ROLLBACK")
      throw error
    } finally {
      client.release()
    }
  }

  return {
    reserve: (holdId, accountId, credits) =>
      transaction(async (client) => {
        const debited = await client.query<AccountRow>({ ...sql.debit, values: [accountId, credits] })
        const [row] = debited.rows
        if (row === undefined) {
          const found = await client.query<AccountRow>({ ...sql.account, values: [accountId] })
          const [account] = found.rows
          if (account === undefined) throw new Error(`account ${accountId} does not exist`)
          return toAccount(accountId, account)
        }
        const hold = toHold(holdId, accountId, credits, row)
        await client.query({ ...sql.hold, values: [holdId, accountId, hold.fromQuota, hold.fromBalance] })
        return hold
      }),
    settle: (hold, logged) =>
      transaction(async (client) => {
        const ended = await client.query({ ...sql.unhold, values: [hold.id] })
        if (ended.rowCount !== 1) throw new Error(`hold ${hold.id} has expired`)
        const { balance, quota, toBalance, toQuota } = division(hold, logged.length)
        if (toQuota + toBalance > 0) {
          await client.query({ ...sql.giveBack, values: [hold.accountId, toQuota, toBalance] })
        }
        if (logged.length === 0) return
        await client.query({ ...sql.enter, values: [hold.accountId, -quota, -balance, hold.id] })
        await client.query({ ...sql.log, values: [hold.accountId, JSON.stringify(logged.map(toRow))] })
      })
  }
}

/** The same with one statement for each phase, each in its own transaction: two round trips and two commits. */
export const statements = (pool: Pool): Ledger => ({
  reserve: async (holdId, accountId, credits) => {
    const { rows } = await pool.query<AccountRow>({ ...sql.debitAndHold, values: [accountId, credits, holdId] })
    const [row] = rows
    if (row === undefined) throw new Error(`account ${accountId} does not exist`)
    return row.from_quota === null ? toAccount(accountId, row) : toHold(holdId, accountId, credits, row)
  },
  settle: async (hold, logged) => {
    const { balance, quota, toBalance, toQuota } = division(hold, logged.length)
    const rows = JSON.stringify(logged.map(toRow))
    const ended = await pool.query({
      ...sql.settleAtOnce,
      values: [hold.accountId, rows, hold.id, -quota, -balance, toQuota, toBalance]
    })
    if (ended.rowCount !== 1) throw new Error(`hold ${hold.id} has expired`)
  }
})

const sweep = `
  with expired as (delete from holds where expires_at <= now() returning *), owed as (
    select account_id, sum(from_quota) as quota, sum(from_balance) as balance from expired group by 1
  )
  update accounts a set used = a.used - o.quota, balance = a.balance + o.balance from owed o where a.id = o.account_id`

/** Returns credits held by crashed processes. */
export const startSweeper = (pool: Pool, failed: (error: unknown) => void): NodeJS.Timeout =>
  setInterval(() => pool.query(sweep).catch(failed), 10_000)
