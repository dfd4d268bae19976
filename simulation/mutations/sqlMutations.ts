import type { Mutation } from "./Mutation.ts"

const functions = "src/layers/sql/schema/functions/credits"
const settle = `${functions}/ledger_settle.sql`

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
    name: "SQL: an answer that is not kept under its key",
    file: settle,
    from: "where ended[t.n] and t.charge > 0",
    to: "where ended[t.n] and t.charge > 1"
  }
]
