import { Clock, Duration, Effect, Layer, Schedule } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import type { Account, Allowance } from "../../domain/Account.ts"
import { NotFound, QuotaExceeded } from "../../domain/errors.ts"
import { type Period, type Plan, periodAt } from "../../domain/Plan.ts"
import type { QueryRecord } from "../../domain/QueryRecord.ts"
import { Ids } from "../../services/Ids.ts"
import { type Hold, HoldExpired, Ledger, type Settlement } from "../../services/Ledger.ts"
import { makeGroupCommit } from "./GroupCommit.ts"
import { toColumns } from "./QueryRow.ts"
import { retryTransient } from "./Transient.ts"
import { discrepancies } from "./Verification.ts"

export interface LedgerOptions {
  /**
   * How long a hold lives when nobody ends it. Longer than the longest request with its drain, and, with the sweep's
   * interval, below the two minutes in which a crash must give credits back (R29).
   */
  readonly lease?: Duration.Duration | undefined
  readonly sweepInterval?: Duration.Duration | undefined
}

const defaultLease = Duration.seconds(105)
const defaultSweepInterval = Duration.seconds(10)
/** Accounts that one sweep's statement gives back to: it holds their locks until it commits. */
const maxSweptAccounts = 500
const maxBatch = 256
const maxPerAccount = 64
/** A request finds its period ended once; the rest is room for a plan that is changed at the same time. */
const maxReserveAttempts = 5

interface Reservation {
  readonly holdId: string
  readonly accountId: string
  readonly credits: number
}

interface Ending {
  readonly hold: Hold
  readonly charge: number
  readonly records: ReadonlyArray<QueryRecord>
  /** Whether it was sent before and the answer was lost. */
  sent: boolean
}

/** What the database says an account has and what it is measured over. */
interface TermsRow {
  readonly quota: bigint | null
  readonly used: bigint | null
  readonly balance: bigint | null
  readonly plan: Plan
  readonly cycle_start: Date | null
  readonly period_start: Date | null
  readonly period_end: Date | null
}

interface ReserveRow extends TermsRow {
  readonly n: bigint
  readonly status: "held" | "exceeded" | "stale" | "unknown"
  readonly from_quota: bigint
  readonly from_balance: bigint
}

interface Opening {
  readonly accountId: string
  readonly plan: Plan
  readonly cycleStart: Date | null
  readonly period: Period
}

/** The ledger in Postgres or PGlite. It sweeps expired holds for as long as it lives. */
export const layer = (options: LedgerOptions = {}): Layer.Layer<Ledger, never, SqlClient.SqlClient | Ids> =>
  Layer.effect(
    Ledger,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const ids = yield* Ids
      const lease = options.lease ?? defaultLease
      const leaseMs = Duration.toMillis(lease)

      const submitReservation = yield* makeGroupCommit<Reservation, ReserveRow>({
        name: "ledger_reserve",
        ownerOf: (reservation) => reservation.accountId,
        maxBatch,
        maxPerOwner: maxPerAccount,
        run: Effect.fnUntraced(function* (batch) {
          const now = new Date(yield* Clock.currentTimeMillis)
          const rows = yield* sql<ReserveRow>`select * from ledger_reserve(
            ${batch.map((entry) => entry.accountId)}::text[],
            ${batch.map((entry) => entry.holdId)}::text[],
            ${batch.map((entry) => BigInt(entry.credits))}::bigint[],
            ${now}::timestamptz,
            ${leaseMs}::bigint
          ) order by n`
          return rows
        })
      })

      const submitOpening = yield* makeGroupCommit<Opening, true>({
        name: "ledger_open",
        ownerOf: (opening) => opening.accountId,
        maxBatch,
        maxPerOwner: maxBatch,
        run: Effect.fnUntraced(function* (batch) {
          const now = new Date(yield* Clock.currentTimeMillis)
          // As text: an array of nothing but nulls has no type that the client could tell the server.
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

      /** Opens the period that is running now. Nothing happens when somebody else has done it already. */
      const openPeriod = Effect.fnUntraced(function* (accountId: string, terms: TermsRow) {
        const now = yield* Clock.currentTimeMillis
        const cycleStart = terms.cycle_start
        const period = periodAt(terms.plan, cycleStart?.getTime(), now)
        if (period === undefined) return yield* Effect.die(new Error(`account ${accountId} has no trial allowance`))
        yield* submitOpening({ accountId, plan: terms.plan, cycleStart, period })
      })

      const reserve = Effect.fnUntraced(function* (account: Account, credits: number) {
        const reservation = { holdId: yield* ids.make("hld_"), accountId: account.id, credits }
        for (let attempt = 1; attempt <= maxReserveAttempts; attempt++) {
          const row = yield* submitReservation(reservation)
          switch (row.status) {
            case "held":
              return toHold(reservation, row)
            case "exceeded":
              return yield* QuotaExceeded.of(toAllowance(row), credits)
            case "unknown":
              return yield* Effect.die(new Error(`account ${account.id} does not exist`))
            case "stale":
              yield* openPeriod(account.id, row)
          }
        }
        return yield* Effect.die(new Error(`the period of account ${account.id} could not be opened`))
      })

      const submitEnding = yield* makeGroupCommit<Ending, Settlement | "expired">({
        name: "ledger_settle",
        ownerOf: (ending) => ending.hold.accountId,
        maxBatch,
        maxPerOwner: maxPerAccount,
        // A connection that is lost while the database commits leaves open whether the search was charged, and an
        // error would tell the caller that it was not (I4). After the lease the hold is gone either way.
        uncertainty: lease,
        run: Effect.fnUntraced(function* (batch) {
          // A release leaves no entry to tell that it happened: sent again, it finds its hold gone, as it should be.
          const releasedBefore = batch.map((entry) => entry.sent && entry.charge === 0)
          for (const entry of batch) entry.sent = true
          const records = batch.flatMap((entry, index) =>
            entry.records.map((record) => ({ n: index + 1, ...toColumns(record) }))
          )
          const rows = yield* sql<{ readonly charged: bigint | null; readonly balance: bigint }>`
            select charged, balance from ledger_settle(
              ${batch.map((entry) => entry.hold.id)}::text[],
              ${batch.map((entry) => entry.hold.accountId)}::text[],
              ${batch.map((entry) => BigInt(entry.charge))}::bigint[],
              ${JSON.stringify(records)}::json
            ) order by n`
          return rows.map(({ balance, charged }, index) => {
            if (charged === null && releasedBefore[index] !== true) return "expired"
            return { charged: Number(charged ?? 0), balance: Number(balance) }
          })
        })
      })

      const settle = Effect.fnUntraced(function* (hold: Hold, records: ReadonlyArray<QueryRecord>) {
        const charge = records.reduce((sum, record) => sum + record.credits, 0)
        const held = hold.fromQuota + hold.fromBalance
        if (charge > held)
          return yield* Effect.die(new RangeError(`hold ${hold.id}: ${charge} charged of ${held} held`))
        const settlement = yield* submitEnding({ hold, charge, records, sent: false })
        return settlement === "expired" ? yield* new HoldExpired({ holdId: hold.id }) : settlement
      })

      const terms = (accountId: string) =>
        Effect.flatMap(
          retryTransient(sql<TermsRow>`
            select l.quota, l.used, w.balance, a.plan, a.cycle_start, l.period_start, l.period_end
            from accounts a join wallets w on w.account_id = a.id left join allowances l on l.id = a.allowance_id
            where a.id = ${accountId}`),
          ([row]) =>
            row === undefined ? Effect.die(new Error(`account ${accountId} does not exist`)) : Effect.succeed(row)
        )

      const allowance = Effect.fn("Ledger.allowance")(function* (account: Account) {
        const row = yield* terms(account.id)
        const now = yield* Clock.currentTimeMillis
        if (row.used !== null && !(row.period_end !== null && row.period_end.getTime() <= now)) return toAllowance(row)
        yield* openPeriod(account.id, row)
        return toAllowance(yield* terms(account.id))
      }, Effect.orDie)

      const grant = Effect.fn("Ledger.grant")(function* (accountId: string, credits: number, reason: string) {
        const cause = `grant:${yield* ids.requestId}`
        const rows = yield* Effect.orDie(
          retryTransient(sql<{ readonly balance: bigint | null }>`
            select ledger_grant(${accountId}, ${credits}::bigint, ${reason}, ${cause}) as balance`)
        )
        const balance = rows[0]?.balance ?? null
        return balance === null
          ? yield* new NotFound({ message: `There is no account ${accountId}.` })
          : Number(balance)
      })

      const sweepOnce = Effect.map(
        sql<{ readonly swept: bigint }>`select ledger_sweep(${maxSweptAccounts}) as swept`,
        ([row]) => Number(row?.swept ?? 0)
      )
      const sweep: Effect.Effect<number, SqlError.SqlError> = Effect.flatMap(sweepOnce, (swept) =>
        swept < maxSweptAccounts ? Effect.succeed(swept) : Effect.map(sweep, (more) => swept + more)
      )

      yield* sweep.pipe(
        Effect.tap((swept) =>
          swept === 0 ? Effect.void : Effect.logWarning(`The credits of ${swept} expired holds were given back.`)
        ),
        Effect.catchCause((cause) =>
          Effect.logWarning("Expired holds could not be swept; the next sweep will.", cause)
        ),
        Effect.repeat(Schedule.spaced(options.sweepInterval ?? defaultSweepInterval)),
        Effect.forkScoped
      )

      return Ledger.of({
        reserve,
        settle,
        allowance,
        grant,
        sweep: Effect.orDie(retryTransient(sweep)),
        verify: Effect.orDie(retryTransient(discrepancies(sql)))
      })
    })
  )

const toAllowance = (row: TermsRow): Allowance => ({
  plan: row.plan,
  quota: row.quota === null ? undefined : Number(row.quota),
  used: Number(row.used),
  balance: Number(row.balance),
  periodStart: row.period_end === null ? undefined : row.period_start?.getTime(),
  resetsAt: row.period_end?.getTime()
})

const toHold = ({ accountId, holdId }: Reservation, row: ReserveRow): Hold => ({
  id: holdId,
  accountId,
  fromQuota: Number(row.from_quota),
  fromBalance: Number(row.from_balance),
  before: toAllowance(row)
})
