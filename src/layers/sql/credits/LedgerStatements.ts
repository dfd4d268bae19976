import { hash } from "node:crypto"
import { type Duration, Effect, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import type { Account } from "../../../domain/accounts/Account.ts"
import { type Budgets, budgetPeriods } from "../../../domain/credits/Budget.ts"
import { type Period, Plan } from "../../../domain/credits/Plan.ts"
import type { LogEntry } from "../../../domain/log/LogEntry.ts"
import type { Adjustment, Hold, KeyedRequest, Settlement } from "../../../services/credits/Ledger.ts"
import { type StoreClock, storeTime } from "../../../services/StoreClock.ts"
import { makeGroupCommit } from "../GroupCommit.ts"
import { rowOf, rowsOf } from "../Rows.ts"
import { toColumns } from "../search/LogRow.ts"

const maxBatch = 256
/**
 * An account's other entries wait here, and no other account's search waits behind them in the process and in Postgres. With
 * 64, the p99 of a search beside 1,000 of another account was 248 ms, with 16 it is 73 ms, and with 8 it would be 51 ms,
 * but an account's own 64 searches in flight would cost a third more.
 */
const maxPerAccount = 16

export interface Reservation {
  readonly holdId: string
  readonly accountId: string
  readonly credits: number
  readonly budgets?: Budgets | undefined
}

/** Lifetime of holds, and the replica that makes them (undefined in a command). */
export interface Lease {
  readonly leaseMs: number
  readonly replicaId: string | undefined
}

/** The allowance's columns are null before the first search. */
export const TermsRow = Schema.Struct({
  quota: Schema.NullOr(Schema.BigInt),
  used: Schema.NullOr(Schema.BigInt),
  balance: Schema.BigInt,
  plan: Plan,
  cycle_start: Schema.NullOr(Schema.Date),
  period_start: Schema.NullOr(Schema.Date),
  period_end: Schema.NullOr(Schema.Date)
})
export type TermsRow = typeof TermsRow.Type

const KnownRow = Schema.Struct({
  n: Schema.BigInt,
  from_quota: Schema.BigInt,
  from_balance: Schema.BigInt,
  ...TermsRow.fields
})

export type HeldRow = typeof KnownRow.Type

const OverBudgetRow = Schema.Struct({
  ...KnownRow.fields,
  status: Schema.Literals(["over_budget", "over_member_budget"]),
  budget_credits: Schema.BigInt,
  budget_period: Schema.Literals(budgetPeriods),
  budget_spent: Schema.BigInt,
  answer: Schema.Null
})
export type OverBudgetRow = typeof OverBudgetRow.Type

const withinBudget = { budget_credits: Schema.Null, budget_period: Schema.Null, budget_spent: Schema.Null }

const UnknownRow = Schema.Struct({
  n: Schema.BigInt,
  status: Schema.Literal("unknown"),
  from_quota: Schema.BigInt,
  from_balance: Schema.BigInt,
  quota: Schema.Null,
  used: Schema.Null,
  balance: Schema.Null,
  plan: Schema.Null,
  cycle_start: Schema.Null,
  period_start: Schema.Null,
  period_end: Schema.Null,
  ...withinBudget,
  answer: Schema.Null
})

const rowOfStatus = <S extends Schema.Top, A extends Schema.Top>(status: S, answer: A) =>
  Schema.Struct({ ...KnownRow.fields, ...withinBudget, status, answer })

/** Only keyed requests can be running, different or answered. */
const ReserveRow = Schema.Union([
  rowOfStatus(Schema.Literal("held"), Schema.Null),
  rowOfStatus(Schema.Literals(["exceeded", "stale"]), Schema.Null),
  OverBudgetRow,
  UnknownRow,
  rowOfStatus(Schema.Literals(["running", "different"]), Schema.Null),
  rowOfStatus(Schema.Literal("answered"), Schema.Uint8Array)
])
export type ReserveRow = typeof ReserveRow.Type

const reserveRows = rowsOf(ReserveRow)

const budgetsOf = (sql: SqlClient.SqlClient, batch: ReadonlyArray<Reservation>) =>
  batch.some(({ budgets }) => budgets !== undefined)
    ? sql`, budget_ids => ${batch.map(({ budgets }) => `${budgets?.own ?? ""} ${budgets?.member ?? ""}`)}::text[]`
    : sql``

const reserveArguments = (
  sql: SqlClient.SqlClient,
  batch: ReadonlyArray<Reservation>,
  now: number,
  { leaseMs, replicaId }: Lease
) => sql`
  ${batch.map((entry) => entry.accountId)}::text[],
  ${batch.map((entry) => entry.holdId)}::text[],
  ${batch.map((entry) => BigInt(entry.credits))}::bigint[],
  ${new Date(now)}::timestamptz,
  ${leaseMs}::bigint,
  ${replicaId ?? null}::text${budgetsOf(sql, batch)}`

export const reservations = (sql: SqlClient.SqlClient, clock: StoreClock["Service"], lease: Lease) =>
  makeGroupCommit<Reservation, ReserveRow>({
    name: "ledger_reserve",
    ownerOf: (reservation) => reservation.accountId,
    maxBatch,
    maxPerOwner: maxPerAccount,
    run: Effect.fnUntraced(function* (batch) {
      const shared = reserveArguments(sql, batch, yield* storeTime(clock), lease)
      return yield* reserveRows(sql`select * from ledger_reserve(${shared}) order by n`)
    })
  })

export interface KeyedReservation extends Reservation {
  readonly request: KeyedRequest
}

/** Lower because of the stored answers: a batch has at most 64 × `maxAnswerBytes`. */
const maxKeyedBatch = 64

export const keyedReservations = (sql: SqlClient.SqlClient, clock: StoreClock["Service"], lease: Lease) =>
  makeGroupCommit<KeyedReservation, ReserveRow>({
    name: "ledger_reserve_keyed",
    ownerOf: (reservation) => reservation.accountId,
    maxBatch: maxKeyedBatch,
    maxPerOwner: maxKeyedBatch,
    run: Effect.fnUntraced(function* (batch) {
      const shared = reserveArguments(sql, batch, yield* storeTime(clock), lease)
      return yield* reserveRows(sql`select * from ledger_reserve(
        ${shared},
        routes => ${batch.map((entry) => entry.request.route)}::text[],
        keys => ${batch.map((entry) => entry.request.key)}::text[],
        fingerprints => ${batch.map((entry) => hash("sha256", entry.request.content))}::text[]
      ) order by n`)
    })
  })

interface Opening {
  readonly accountId: string
  readonly plan: Plan
  readonly cycleStart: Date | null
  readonly period: Period
}

/** Does nothing if another replica has already opened the period. */
export const openings = (sql: SqlClient.SqlClient, clock: StoreClock["Service"]) =>
  makeGroupCommit<Opening, true>({
    name: "ledger_open",
    ownerOf: (opening) => opening.accountId,
    maxBatch,
    maxPerOwner: maxBatch,
    run: Effect.fnUntraced(function* (batch) {
      const now = new Date(yield* storeTime(clock))
      // Sent as text, because the client cannot infer the type of an array that contains only nulls.
      const cycleStarts = batch.map((entry) => entry.cycleStart?.toISOString() ?? "")
      yield* sql`select ledger_open(
        ${batch.map((entry) => entry.accountId)}::text[],
        ${batch.map((entry) => entry.plan)}::text[],
        array(select nullif(t, '')::timestamptz from unnest(${cycleStarts}::text[]) with ordinality as u (t, n)
          order by n),
        ${batch.map((entry) => new Date(entry.period.start))}::timestamptz[],
        ${batch.map((entry) => new Date(entry.period.end))}::timestamptz[],
        ${now}::timestamptz
      )`
      return batch.map(() => true as const)
    })
  })

interface Ending {
  readonly hold: Hold
  readonly charge: number
  readonly records: ReadonlyArray<LogEntry>
  /** If an entry is sent again, the first response was lost. */
  sent: boolean
}

const SettleRow = Schema.Struct({ charged: Schema.NullOr(Schema.BigInt), balance: Schema.BigInt })
const settleRows = rowsOf(SettleRow)

const recordsOf = (batch: ReadonlyArray<Ending>): string =>
  JSON.stringify(
    batch.flatMap((entry, index) => entry.records.map((record) => ({ n: index + 1, ...toColumns(record) })))
  )

type SettleRow = typeof SettleRow.Type

const endingBy = <E extends Ending>(
  settle: (batch: ReadonlyArray<E>) => Effect.Effect<ReadonlyArray<SettleRow>, SqlError.SqlError>
) =>
  Effect.fnUntraced(function* (batch: ReadonlyArray<E>) {
    // A release writes no ledger entry, so when resent it correctly finds no hold.
    const releasedBefore = batch.map((entry) => entry.sent && entry.charge === 0)
    for (const entry of batch) entry.sent = true
    const rows = yield* settle(batch)
    return rows.map(({ balance, charged }, index): Settlement | "expired" => {
      if (charged === null && releasedBefore[index] !== true) return "expired"
      return { charged: Number(charged ?? 0), balance: Number(balance) }
    })
  })

const settleArguments = (sql: SqlClient.SqlClient, batch: ReadonlyArray<Ending>) => sql`
  ${batch.map((entry) => entry.hold.id)}::text[],
  ${batch.map((entry) => entry.hold.accountId)}::text[],
  ${batch.map((entry) => BigInt(entry.charge))}::bigint[],
  ${recordsOf(batch)}::json`

export const endings = (sql: SqlClient.SqlClient, lease: Duration.Duration) =>
  makeGroupCommit<Ending, Settlement | "expired">({
    name: "ledger_settle",
    ownerOf: (ending) => ending.hold.accountId,
    maxBatch,
    maxPerOwner: maxPerAccount,
    // After a lost connection the charge is unknown, and an error would claim that nothing was charged (I4). The
    // statement is therefore resent until the lease ends, when the hold is gone in either case.
    uncertainty: lease,
    run: endingBy((batch) =>
      settleRows(sql`select charged, balance from ledger_settle(${settleArguments(sql, batch)}) order by n`)
    )
  })

interface KeyedEnding extends Ending {
  readonly request: KeyedRequest
  /** Compressed. Empty if it is too large to store. */
  readonly answer: Uint8Array
}

export const keyedEndings = (sql: SqlClient.SqlClient, lease: Duration.Duration) =>
  makeGroupCommit<KeyedEnding, Settlement | "expired">({
    name: "ledger_settle_keyed",
    ownerOf: (ending) => ending.hold.accountId,
    maxBatch: maxKeyedBatch,
    maxPerOwner: maxKeyedBatch,
    uncertainty: lease,
    run: endingBy((batch) =>
      settleRows(sql`
        select charged, balance from ledger_settle(
          ${settleArguments(sql, batch)},
          ${batch.map((entry) => entry.request.route)}::text[],
          ${batch.map((entry) => entry.request.key)}::text[],
          ${Buffer.concat(batch.map((entry) => entry.answer))}::bytea,
          ${batch.map((entry) => entry.answer.length)}::integer[]
        ) order by n`)
    )
  })

export const clearKeys = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, clock: StoreClock["Service"]) {
  yield* sql`select idempotency_clear(${new Date(yield* storeTime(clock))}::timestamptz)`
})

interface Part {
  readonly hold: Hold
  /** `hld_` and 32 hex characters, as if the search had its own hold. It is the cause of the ledger entry. */
  readonly id: string
  readonly record: LogEntry
}

const partRows = rowsOf(Schema.Struct({ charged: Schema.NullOr(Schema.BigInt) }))

export const parts = (sql: SqlClient.SqlClient, lease: Duration.Duration) =>
  makeGroupCommit<Part, "settled" | "expired">({
    name: "ledger_settle_part",
    ownerOf: (part) => part.hold.accountId,
    maxBatch,
    maxPerOwner: maxPerAccount,
    // As in `endings`: an error would claim that nothing was charged.
    uncertainty: lease,
    run: Effect.fnUntraced(function* (batch) {
      const rows = yield* partRows(sql`
        select charged from ledger_settle_part(
          ${batch.map((part) => part.hold.id)}::text[],
          ${batch.map((part) => part.id)}::text[],
          ${batch.map((part) => part.hold.accountId)}::text[],
          ${batch.map((part) => BigInt(part.record.credits))}::bigint[],
          ${JSON.stringify(batch.map(({ record }, index) => ({ n: index + 1, ...toColumns(record) })))}::json
        ) order by n`)
      return rows.map(({ charged }) => (charged === null ? "expired" : "settled"))
    })
  })

const termsRow = rowOf(Schema.Struct({ ...TermsRow.fields, is_open: Schema.Boolean, is_deleted: Schema.Boolean }))

/** Undefined for an unknown account. `is_open` is false if the period ended or the plan is about to change. */
export const readTerms = (sql: SqlClient.SqlClient, accountId: string, now: number) =>
  termsRow(sql`
    select l.quota, l.used, w.balance, a.plan, a.cycle_start, l.period_start, l.period_end,
      l.id is not null and coalesce(l.period_end > ${new Date(now)}, true)
        and coalesce(a.next_plan_at > ${new Date(now)}, true) as is_open,
      a.deleted_at is not null as is_deleted
    from accounts a join wallets w on w.account_id = a.id left join allowances l on l.id = a.allowance_id
    where a.id = ${accountId}`)

const countedRow = rowOf(Schema.Struct({ quota: Schema.NullOr(Schema.BigInt), used: Schema.BigInt }))

export const readPeriod = (sql: SqlClient.SqlClient, accountId: string, { start }: Period) =>
  countedRow(sql`select quota, used from allowances where scope = ${accountId} and period_start = ${new Date(start)}`)

const trialRow = rowOf(Schema.Struct({ used: Schema.BigInt, is_taken: Schema.Boolean }))

export const readTrial = (sql: SqlClient.SqlClient, { email, id }: Account) =>
  trialRow(sql`
    with granted as (
      select scope, exists (
        select from allowances l join accounts a on a.allowance_id = l.id
        where l.scope = mailbox.scope and a.id <> ${id} and a.deleted_at is null
      ) as is_taken
      from trial_scope(trial_mailbox(${email})) as mailbox (scope)
    )
    select coalesce(l.used, 0) as used, is_taken
    from granted left join allowances l on l.period_start = to_timestamp(0)
      and l.scope = case when is_taken then granted.scope || ':' || ${id} else granted.scope end`)

const grantRow = rowOf(
  Schema.Struct({
    status: Schema.Literals(["granted", "different", "unknown"]),
    balance: Schema.NullOr(Schema.BigInt)
  })
)

/** Idempotent by `cause`. */
export const addCredits = (
  sql: SqlClient.SqlClient,
  grant: { readonly accountId: string; readonly credits: number; readonly reason: string; readonly cause: string }
) =>
  grantRow(sql`
    select status, balance
    from ledger_grant_once(${grant.accountId}, ${grant.credits}::bigint, ${grant.reason}, ${grant.cause})`)

const adjustedRow = rowOf(
  Schema.Struct({
    status: Schema.Literals(["adjusted", "stale", "impossible"]),
    held: Schema.BigInt,
    ...TermsRow.fields
  })
)

/** Idempotent by `cause`. Undefined for an unknown account. */
export const adjustCredits = Effect.fnUntraced(function* (
  { clock, sql }: { readonly clock: StoreClock["Service"]; readonly sql: SqlClient.SqlClient },
  adjustment: Adjustment,
  cause: string
) {
  const now = new Date(yield* storeTime(clock))
  return yield* adjustedRow(sql`
    select * from ledger_adjust(
      ${adjustment.accountId}, ${adjustment.credits}::bigint, ${adjustment.to}, ${adjustment.reason}, ${adjustment.by}, ${cause}, ${now}::timestamptz
    )`)
})

const sweepRow = rowOf(Schema.Struct({ swept: Schema.BigInt }))

export const sweepHolds = (sql: SqlClient.SqlClient, maxAccounts: number) =>
  Effect.map(sweepRow(sql`select ledger_sweep(${maxAccounts}) as swept`), (row) => Number(row?.swept ?? 0))
