import type { Mutation } from "./mutations.ts"

const functions = "src/layers/sql/schema/functions"
const settle = `${functions}/ledger_settle.sql`
const billing = "src/layers/sql/BillingBooksSql.ts"

/**
 * Mistakes in the SQL, which are looked for on the embedded database. It has one session, so that no run can find a lock
 * that is missing: `test/layers/sql/` and `npm run torture` look for those on a server.
 */
export const sqlMutations: ReadonlyArray<Mutation> = [
  {
    name: "SQL: a quota that is not given back",
    file: settle,
    from: "update allowances l set used = l.used - t.credits",
    to: "update allowances l set used = l.used - 0 * t.credits"
  },
  {
    name: "SQL: a budget that is not given back",
    file: settle,
    from: "update key_spending s set spent = s.spent - t.credits",
    to: "update key_spending s set spent = s.spent - 0 * t.credits"
  },
  {
    name: "SQL: packs that are given back last",
    file: settle,
    from: "least(h.from_quota + h.from_balance - asked.charge, h.from_balance) as to_balance",
    to: "greatest(h.from_balance - asked.charge, 0) as to_balance"
  },
  {
    name: "SQL: a settlement that is sent twice and logged twice",
    file: settle,
    from: "where ended[r.n];",
    to: "where ended[r.n] or true;"
  },
  {
    name: "SQL: a reservation that is sent twice and held twice",
    file: `${functions}/ledger_reserve.sql`,
    from: "left join holds h on h.id = r.hold_id",
    to: "left join holds h on h.id = r.hold_id and h.from_quota < 0"
  },
  {
    name: "SQL: one credit more than there are",
    file: `${functions}/ledger_reserve.sql`,
    from: "if from_balance > balance then",
    to: "if from_balance > balance + 1 then"
  },
  {
    name: "SQL: a period that begins with what the last one had used",
    file: `${functions}/ledger_open.sql`,
    from: "insert into allowances (scope, period_start, period_end, quota)\n    select id, period_start, period_end, quota from wanted",
    to: "insert into allowances (scope, period_start, period_end, quota, used)\n    select w.id, w.period_start, w.period_end, w.quota, (select l.used from allowances l join accounts a on a.allowance_id = l.id where a.id = w.id) from wanted w"
  },
  {
    name: "SQL: holds that end minutes late",
    file: `${functions}/ledger_sweep.sql`,
    from: "where account_id = any (free_accounts) and expires_at <= moment returning",
    to: "where account_id = any (free_accounts) and expires_at <= moment - interval '10 minutes' returning"
  },
  {
    name: "SQL: an answer that is not kept under its key",
    file: `${functions}/ledger_settle_keyed.sql`,
    from: "if settled.charged > 0 then",
    to: "if settled.charged > 1 then"
  },
  {
    name: "SQL: a refund taken twice",
    file: billing,
    from: "::bigint, changes = changes + 1",
    to: "::bigint * 0, changes = changes + 1"
  },
  {
    name: "SQL: an order that is booked without a transaction",
    file: billing,
    from: "sql.withTransaction(Effect.andThen(sql`select from wallets",
    to: "(Effect.andThen(sql`select from wallets"
  },
  {
    name: "SQL: a revoked key that works",
    file: "src/layers/sql/KeyRows.ts",
    from: "::timestamptz)`\n",
    to: "::timestamptz - interval '1 hour')`\n"
  },
  {
    name: "SQL: a cycle on the 31st that drifts to the 28th",
    file: "src/domain/Plan.ts",
    from: "end: renewal(start, count + 1)",
    to: "end: renewal(DateTime.makeUnsafe(renewal(start, count)), 1)"
  }
]
