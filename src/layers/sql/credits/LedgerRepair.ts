import { Effect, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { noSuchAccount } from "../../../services/accounts/Accounts.ts"
import { CorrectionImpossible, type Discrepancy, type Repair } from "../../../services/credits/Ledger.ts"
import { rowOf, rowsOf } from "../Rows.ts"
import { unlimited } from "../store/StatementLimit.ts"
import { balances, charges, closedMonths, debts, everything, lockClosedMonths, quotas } from "./Verification.ts"

const quotaRows = rowsOf(
  Schema.Struct({
    id: Schema.BigInt,
    entered: Schema.BigInt,
    held: Schema.BigInt,
    used: Schema.BigInt,
    quota: Schema.NullOr(Schema.BigInt)
  })
)
const balanceRow = rowOf(Schema.Struct({ entered: Schema.BigInt, held: Schema.BigInt, balance: Schema.BigInt }))
const debtRow = rowOf(Schema.Struct({ entered: Schema.BigInt, owed: Schema.BigInt }))
const chargeRows = rowsOf(Schema.Struct({ hold_id: Schema.String, charged: Schema.BigInt, logged: Schema.BigInt }))
const closedRow = rowOf(Schema.Struct({ closed: Schema.BigInt, found: Schema.BigInt }))
const knownRow = rowOf(Schema.Struct({ is_account: Schema.Boolean, is_known: Schema.Boolean }))

interface Deps {
  readonly sql: SqlClient.SqlClient
  readonly repair: Repair
  /** Prefix of the causes of this repair's entries. */
  readonly cause: string
}

interface Entry {
  readonly allowanceId: bigint | null
  readonly quotaCredits: bigint
  readonly balanceCredits: bigint
  readonly owedCredits?: bigint
  /** Appended to the reason: the figures before and after the repair. */
  readonly note: string
}

/**
 * Gives each entry its actual time of writing: checks skip entries much older than a checkpoint, and a repair may run
 * long.
 */
const write = (
  { cause, repair, sql }: Deps,
  { allowanceId, balanceCredits, note, owedCredits, quotaCredits }: Entry
) => sql`
  insert into ledger_entries
    (account_id, allowance_id, kind, quota_credits, balance_credits, owed_credits, cause, reason, made_by, created_at)
  values (
    ${repair.accountId}, ${allowanceId}::bigint, 'adjustment', ${quotaCredits}::bigint, ${balanceCredits}::bigint,
    ${owedCredits ?? 0n}::bigint,
    ${`${cause}:${allowanceId ?? (owedCredits === undefined ? "balance" : "owed")}`}, ${`${repair.reason} (${note})`}, ${repair.by}, clock_timestamp()
  )`

interface Difference {
  readonly discrepancy: Discrepancy
  readonly isPossible: boolean
  readonly mend: Effect.Effect<unknown, SqlError.SqlError>
}

/** A stored figure that differs from the sum of its entries and holds. */
interface WrongFigure {
  readonly what: Discrepancy["what"]
  readonly name: string
  readonly found: bigint
  readonly expected: bigint
  /** False if the figure cannot be set to `expected`. */
  readonly mayChange: boolean
  /** The entry that adds these credits to the sum. */
  readonly entry: (credits: bigint) => Omit<Entry, "note">
  readonly lower: (excess: bigint) => Effect.Effect<unknown, SqlError.SqlError>
}

const toDifference = (deps: Deps, figure: WrongFigure): Difference => {
  const { accountId, keep } = deps.repair
  const { entry, expected, found, lower, mayChange, name, what } = figure
  const keepsFigure = keep === "figures"
  const excess = found - expected
  const note = keepsFigure
    ? `${name} stays ${found}, entries added up to ${expected}`
    : `${name} ${found} became ${expected}`
  const written = write(deps, { ...entry(keepsFigure ? excess : 0n), note })
  return {
    discrepancy: { accountId, what, expected: Number(expected), found: Number(found) },
    isPossible: keepsFigure || mayChange,
    mend: keepsFigure ? written : Effect.andThen(lower(excess), written)
  }
}

const readQuotas = Effect.fnUntraced(function* (deps: Deps) {
  const { repair, sql } = deps
  const { accountId } = repair
  const mine = sql`(l.scope = ${accountId} or l.id = (select allowance_id from accounts where id = ${accountId}))`
  const rows = yield* quotaRows(sql`
    with sums as (
      select allowance_id, quota_credits from ledger_entries
      where allowance_id in (select l.id from allowances l where ${mine})
    )
    select id, entered::bigint, held::bigint, used, quota from (${quotas(sql, sql.and([mine]))}) as t
    where used <> entered + held order by id`)
  return rows.map(({ entered, held, id, quota, used }) =>
    toDifference(deps, {
      what: "credits used of the quota",
      name: "used",
      found: used,
      expected: entered + held,
      mayChange: entered >= 0n && (quota === null || entered + held <= quota),
      entry: (quotaCredits) => ({ allowanceId: id, quotaCredits, balanceCredits: 0n }),
      lower: (excess) => sql`update allowances set used = used - ${excess}::bigint where id = ${id}`
    })
  )
})

const readBalance = Effect.fnUntraced(function* (deps: Deps, isAccount: boolean) {
  const { repair, sql } = deps
  const { accountId } = repair
  const row = yield* balanceRow(sql`
    with ${everything(sql, { only: accountId })}
    select entered::bigint, held::bigint, balance from (${balances(sql, { only: accountId })}) as t
    where balance <> entered - held`)
  if (row === undefined) return []
  const expected = row.entered - row.held
  const difference = toDifference(deps, {
    what: "pack balance",
    name: "balance",
    found: row.balance,
    expected,
    mayChange: expected >= 0n && isAccount,
    entry: (balanceCredits) => ({ allowanceId: null, quotaCredits: 0n, balanceCredits }),
    lower: (excess) => sql`update wallets set balance = balance - ${excess}::bigint where account_id = ${accountId}`
  })
  return [difference]
})

const readDebt = Effect.fnUntraced(function* (deps: Deps) {
  const { repair, sql } = deps
  const { accountId } = repair
  const row = yield* debtRow(sql`
    with ${everything(sql, { only: accountId })}
    select entered::bigint, owed from (${debts(sql, { only: accountId })}) as t where owed <> entered`)
  if (row === undefined) return []
  const difference = toDifference(deps, {
    what: "credits owed",
    name: "owed",
    found: row.owed,
    expected: row.entered,
    mayChange: row.entered >= 0n,
    entry: (owedCredits) => ({ allowanceId: null, quotaCredits: 0n, balanceCredits: 0n, owedCredits }),
    lower: (excess) => sql`update wallets set owed = owed - ${excess}::bigint where account_id = ${accountId}`
  })
  return [difference]
})

/**
 * Log entries cannot be recreated, so the charge itself stays: one entry corrects the hold's charge to match the log,
 * and another charges the difference without a hold.
 */
const readCharges = Effect.fnUntraced(function* ({ cause, repair, sql }: Deps) {
  const { accountId, by, reason } = repair
  const wrong = yield* chargeRows(sql`
    with ${everything(sql, { only: accountId })}
    select hold_id, charged::bigint, logged::bigint from (${charges(sql)}) as t where charged <> logged`)
  if (wrong.length === 0) return []
  const mend = sql`
    insert into ledger_entries
      (account_id, kind, quota_credits, balance_credits, cause, corrects, reason, made_by, created_at)
    select ${accountId}, 'adjustment', sign * (logged - charged), 0, ${cause} || ':' || hold_id || ':' || sign,
      case when sign = 1 then hold_id end,
      ${reason} || ' (charged ' || charged || ', logged ' || logged || ' for ' || hold_id || ')', ${by}, clock_timestamp()
    from unnest(
      ${wrong.map((charge) => charge.hold_id)}::text[], ${wrong.map((charge) => charge.charged)}::bigint[],
      ${wrong.map((charge) => charge.logged)}::bigint[]
    ) as wrong (hold_id, charged, logged), unnest(array[1, -1]) as sign`
  const sum = (credits: (charge: (typeof wrong)[number]) => bigint) =>
    Number(wrong.reduce((all, charge) => all + credits(charge), 0n))
  const difference: Difference = {
    discrepancy: {
      accountId,
      what: "credits in the query log",
      expected: sum(({ charged }) => charged),
      found: sum(({ logged }) => logged)
    },
    isPossible: true,
    mend
  }
  return [difference]
})

/** The next verification reads reopened months and closes them again. */
const readClosed = Effect.fnUntraced(function* ({ repair: { accountId }, sql }: Deps) {
  const row = yield* closedRow(sql`
    with ${everything(sql, { only: accountId })}
    select closed, found from (${closedMonths(sql, sql`account_id = ${accountId}`, "not is_new")}) as t
    where found <> closed`)
  if (row === undefined) return []
  const difference: Difference = {
    discrepancy: {
      accountId,
      what: "closed months of the ledger",
      expected: Number(row.closed),
      found: Number(row.found)
    },
    isPossible: true,
    mend: sql`delete from ledger_months where account_id = ${accountId}`
  }
  return [difference]
})

/**
 * Repairs an account's books in one transaction. Searches change a figure together with its entries or holds, so a
 * difference stays constant while they run. The sums may take minutes, so they are computed before any lock is taken,
 * and searches of the account continue. The repair lock prevents two repairs of the same difference.
 */
export const repairBooks = (
  repair: Repair,
  cause: string
): Effect.Effect<
  ReadonlyArray<Discrepancy>,
  SqlError.SqlError | CorrectionImpossible | ReturnType<typeof noSuchAccount>,
  SqlClient.SqlClient
> =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    unlimited(
      sql,
      Effect.gen(function* () {
        const deps: Deps = { sql, repair, cause }
        yield* sql`select from pg_advisory_xact_lock(hashtext('quarry_ledger_repair'))`
        const known = yield* knownRow(sql`
          select exists (select from accounts where id = ${repair.accountId}) as is_account,
            exists (select from accounts where id = ${repair.accountId}) or
            exists (select from allowances where scope = ${repair.accountId}) or
            exists (select from ledger_entries where account_id = ${repair.accountId}) as is_known`)
        if (known?.is_known !== true) return yield* noSuchAccount(repair.accountId)
        if (known.is_account) {
          yield* sql`insert into wallets (account_id) values (${repair.accountId}) on conflict do nothing`
        }
        // Takes locks in the same order as every ledger function: wallets before allowances.
        const differences = [
          ...(yield* readBalance(deps, known.is_account)),
          ...(yield* readDebt(deps)),
          ...(yield* readQuotas(deps)),
          ...(yield* readCharges(deps)),
          ...(yield* readClosed(deps))
        ]
        const impossible = differences.find(({ isPossible }) => !isPossible)
        if (impossible !== undefined) return yield* CorrectionImpossible.ofRepair(repair, impossible.discrepancy)
        if (differences.length > 0) {
          yield* lockClosedMonths(sql)
          // Holds the wallet's lock so that no process closes a later entry of the account and misses these.
          yield* sql`select from wallets where account_id = ${repair.accountId} for update`
        }
        for (const { discrepancy, mend } of differences) {
          // Searches may meanwhile have used the credits that the entries had left.
          yield* Effect.catchReason(mend, "SqlError", "ConstraintError", () =>
            Effect.fail(CorrectionImpossible.ofRepair(repair, discrepancy))
          )
        }
        return differences.map(({ discrepancy }) => discrepancy)
      })
    )
  )
