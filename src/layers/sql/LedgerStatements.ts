import { type Duration, Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import type { LogEntry } from "../../domain/LogEntry.ts"
import { type Period, Plan } from "../../domain/Plan.ts"
import type { Adjustment, Hold, Settlement } from "../../services/Ledger.ts"
import { type StoreClock, storeTime } from "../../services/StoreClock.ts"
import { makeGroupCommit } from "./GroupCommit.ts"
import { toColumns } from "./LogRow.ts"
import { rowOf, rowsOf } from "./Rows.ts"

/** Entries of one batch: one statement carries them all. */
const maxBatch = 256
/** Entries of one account in a batch, so that a busy account leaves room for others. */
const maxPerAccount = 64

export interface Reservation {
  readonly holdId: string
  readonly accountId: string
  readonly credits: number
}

/** An account's plan and balance, and its allowance, whose columns are null before the account's first search. */
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

/** A row of `ledger_reserve` for an account that exists. */
const KnownRow = Schema.Struct({
  n: Schema.BigInt,
  status: Schema.Literals(["held", "exceeded", "stale"]),
  from_quota: Schema.BigInt,
  from_balance: Schema.BigInt,
  ...TermsRow.fields
})

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
  period_end: Schema.Null
})

export type ReservedRow = typeof KnownRow.Type
type ReserveRow = ReservedRow | typeof UnknownRow.Type

const reserveRows = rowsOf(Schema.Union([KnownRow, UnknownRow]))

/** Makes the function that reserves credits. Calls of it that arrive together share one call of `ledger_reserve`. */
export const reservations = (sql: SqlClient.SqlClient, clock: StoreClock, leaseMs: number) =>
  makeGroupCommit<Reservation, ReserveRow>({
    name: "ledger_reserve",
    ownerOf: (reservation) => reservation.accountId,
    maxBatch,
    maxPerOwner: maxPerAccount,
    run: Effect.fnUntraced(function* (batch) {
      const now = new Date(yield* storeTime(clock))
      return yield* reserveRows(sql`select * from ledger_reserve(
        ${batch.map((entry) => entry.accountId)}::text[],
        ${batch.map((entry) => entry.holdId)}::text[],
        ${batch.map((entry) => BigInt(entry.credits))}::bigint[],
        ${now}::timestamptz,
        ${leaseMs}::bigint
      ) order by n`)
    })
  })

interface Opening {
  readonly accountId: string
  readonly plan: Plan
  readonly cycleStart: Date | null
  readonly period: Period
}

/** Makes the function that opens an account's period; it does nothing when another replica has opened it. */
export const openings = (sql: SqlClient.SqlClient, clock: StoreClock) =>
  makeGroupCommit<Opening, true>({
    name: "ledger_open",
    ownerOf: (opening) => opening.accountId,
    maxBatch,
    maxPerOwner: maxBatch,
    run: Effect.fnUntraced(function* (batch) {
      const now = new Date(yield* storeTime(clock))
      // As text, because the client cannot name the type of an array that has nothing but nulls.
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
  /** True once it was sent: if it is sent again, the first answer was lost. */
  sent: boolean
}

const settleRows = rowsOf(Schema.Struct({ charged: Schema.NullOr(Schema.BigInt), balance: Schema.BigInt }))

/** Makes the function that ends a hold. Calls of it that arrive together share one call of `ledger_settle`. */
export const endings = (sql: SqlClient.SqlClient, lease: Duration.Duration) =>
  makeGroupCommit<Ending, Settlement | "expired">({
    name: "ledger_settle",
    ownerOf: (ending) => ending.hold.accountId,
    maxBatch,
    maxPerOwner: maxPerAccount,
    // If the connection is lost during the commit, nobody knows whether the search was charged, and an error would say
    // that it was not (I4). So it is sent until the lease has ended: after that the hold is gone in both cases.
    uncertainty: lease,
    run: Effect.fnUntraced(function* (batch) {
      // A release writes no ledger entry. Sent again, it finds no hold, and that is right.
      const releasedBefore = batch.map((entry) => entry.sent && entry.charge === 0)
      for (const entry of batch) entry.sent = true
      const records = batch.flatMap((entry, index) =>
        entry.records.map((record) => ({ n: index + 1, ...toColumns(record) }))
      )
      const rows = yield* settleRows(sql`
        select charged, balance from ledger_settle(
          ${batch.map((entry) => entry.hold.id)}::text[],
          ${batch.map((entry) => entry.hold.accountId)}::text[],
          ${batch.map((entry) => BigInt(entry.charge))}::bigint[],
          ${JSON.stringify(records)}::json
        ) order by n`)
      return rows.map(({ balance, charged }, index) => {
        if (charged === null && releasedBefore[index] !== true) return "expired"
        return { charged: Number(charged ?? 0), balance: Number(balance) }
      })
    })
  })

const termsRow = rowOf(TermsRow)

/** The account's allowance, which may have ended; undefined for an unknown account. */
export const readTerms = (sql: SqlClient.SqlClient, accountId: string) =>
  termsRow(sql`
    select l.quota, l.used, w.balance, a.plan, a.cycle_start, l.period_start, l.period_end
    from accounts a join wallets w on w.account_id = a.id left join allowances l on l.id = a.allowance_id
    where a.id = ${accountId}`)

const GrantRow = Schema.Struct({
  status: Schema.Literals(["granted", "different", "unknown"]),
  balance: Schema.NullOr(Schema.BigInt)
})
const grantRow = rowOf(GrantRow)

/** Adds pack credits, once for each `cause`. */
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

/** Writes an operator's correction, once for each `cause`. Undefined for an unknown account. */
export const adjustCredits = Effect.fnUntraced(function* (
  { clock, sql }: { readonly clock: StoreClock; readonly sql: SqlClient.SqlClient },
  it: Adjustment,
  cause: string
) {
  const now = new Date(yield* storeTime(clock))
  return yield* adjustedRow(sql`
    select * from ledger_adjust(
      ${it.accountId}, ${it.credits}::bigint, ${it.to}, ${it.reason}, ${it.by}, ${cause}, ${now}::timestamptz
    )`)
})

const sweepRow = rowOf(Schema.Struct({ swept: Schema.BigInt }))

/** Gives back the expired holds of `maxAccounts` accounts at most, and answers how many holds there were. */
export const sweepHolds = (sql: SqlClient.SqlClient, maxAccounts: number) =>
  Effect.map(sweepRow(sql`select ledger_sweep(${maxAccounts}) as swept`), (row) => Number(row?.swept ?? 0))
