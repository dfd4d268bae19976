import type { TestedMutation } from "./Mutation.ts"

const sql = "src/layers/sql"
const functions = `${sql}/schema/functions/credits`
const test = "test/layers/sql/store/Pglite.test.ts"
const settle = `${functions}/ledger_settle.sql`

/**
 * Mistakes in the SQL layers, to be found on the embedded database. It has a single session, so missing locks cannot be
 * found here: `test/layers/sql/` and `npm run torture` look for those on a server.
 */
export const sqlMutations: ReadonlyArray<TestedMutation> = [
  {
    name: "SQL: a quota that is not given back",
    file: settle,
    test,
    from: "update allowances l set used = l.used - t.credits",
    to: "update allowances l set used = l.used - 0 * t.credits"
  },
  {
    name: "SQL: one credit more than there are",
    file: `${functions}/ledger_reserve.sql`,
    test,
    from: "if from_balance > balance then",
    to: "if from_balance > balance + 1 then"
  },
  {
    name: "SQL: a period that begins with what the last one had used",
    file: `${functions}/ledger_open.sql`,
    test,
    from: "insert into allowances (scope, period_start, period_end, quota)\n    select id, period_start, period_end, quota from wanted",
    to: "insert into allowances (scope, period_start, period_end, quota, used)\n    select w.id, w.period_start, w.period_end, w.quota, (select l.used from allowances l join accounts a on a.allowance_id = l.id where a.id = w.id) from wanted w"
  },
  {
    name: "SQL: an answer that is not kept under its key",
    file: settle,
    test,
    from: "where ended[t.n] and t.charge > 0",
    to: "where ended[t.n] and t.charge > 1"
  },
  {
    name: "SQL: holds that never end",
    file: `${functions}/ledger_sweep.sql`,
    test,
    from: "(free_accounts) and expires_at <= moment",
    to: "(free_accounts) and expires_at <= moment - interval '10 years'"
  },
  {
    name: "SQL: a budget that does not count",
    file: `${functions}/ledger_reserve.sql`,
    test,
    from: "set spent = s.spent + t.credits",
    to: "set spent = s.spent + 0 * t.credits"
  },
  {
    name: "SQL: a budget that counts what comes back",
    file: settle,
    test,
    from: "set spent = s.spent - t.credits",
    to: "set spent = s.spent - 0 * t.credits"
  },
  {
    name: "SQL: owed credits that are forgotten",
    file: `${functions}/ledger_credit.sql`,
    test,
    from: "select least(w.owed, credits), w.balance + credits - least(w.owed, credits) into",
    to: "select 0::bigint, w.balance + credits into"
  },
  {
    name: "SQL: a trial for each account of an address",
    file: `${functions}/trial_enter.sql`,
    test,
    from: "trial_scope(trial_mailbox(address))",
    to: "trial_scope(account)"
  },
  {
    name: "SQL: a refund taken twice",
    file: `${sql}/billing/BillingBooksSql.ts`,
    test,
    from: "set taken_back = ${due}::bigint, changes",
    to: "set changes"
  },
  {
    name: "SQL: an order granted with each reading",
    file: `${sql}/billing/BillingBooksSql.ts`,
    test,
    from: "if (granted > 0 && (before?.granted ?? 0n) === 0n) {\n      yield* sql`select ledger_credit(${accountId}, ${granted}::bigint, 'pack', ${order.id}, ${`pack:${order.id}`})`",
    to: "if (granted > 0) {\n      yield* sql`select ledger_credit(${accountId}, ${granted}::bigint, 'pack', ${order.id}, ${`pack:${order.id}:${reading}`})`"
  },
  {
    name: "SQL: a revoked key that works",
    file: `${sql}/keys/KeyRows.ts`,
    test,
    from: "revoked_at > ${now}::timestamptz",
    to: "revoked_at > to_timestamp(0)"
  },
  {
    name: "SQL: an expired key that works",
    file: `${sql}/keys/PrincipalCache.ts`,
    test,
    from: "[row.expires_at, row.revoked_at].flatMap",
    to: "[row.revoked_at].flatMap"
  },
  {
    name: "SQL: a rotation that leaves the bounds behind",
    file: `${sql}/keys/KeyStoreSql.ts`,
    test,
    from: "originId: origin_id, createdBy:",
    to: "originId: null, createdBy:"
  },
  {
    name: "SQL: a failed delivery that is not repeated",
    file: `${sql}/webhooks/EventBooksSql.ts`,
    test,
    from: 'mayFollow ? "pending" : "failed"',
    to: 'mayFollow ? "failed" : "failed"'
  }
]
