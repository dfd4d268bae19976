import { Duration, Effect, Layer, Metric } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { type Account, accountAt } from "../../../domain/accounts/Account.ts"
import type { Allowance } from "../../../domain/credits/Allowance.ts"
import type { Budgets } from "../../../domain/credits/Budget.ts"
import { type Period, periodAt } from "../../../domain/credits/Plan.ts"
import { NotFound, QuotaExceeded, unauthorized } from "../../../domain/errors.ts"
import type { LogEntry } from "../../../domain/log/LogEntry.ts"
import { noSuchAccount } from "../../../services/accounts/Accounts.ts"
import { ifActing, logFailure, runRepeatedly } from "../../../services/background.ts"
import {
  type Adjustment,
  CorrectionImpossible,
  GrantDiffers,
  type Hold,
  HoldExpired,
  type KeyedAnswer,
  type KeyedRequest,
  type KeyedReservation,
  Ledger,
  type Repair,
  type ReserveError
} from "../../../services/credits/Ledger.ts"
import { Ids } from "../../../services/Ids.ts"
import { ReplicaId } from "../../../services/operations/Replicas.ts"
import { StoreClock, storeTime } from "../../../services/StoreClock.ts"
import { holdsSwept } from "../../../services/telemetry/Metrics.ts"
import * as AnswerBytes from "../search/AnswerBytes.ts"
import { dieOnSqlError } from "../Transaction.ts"
import { retryTransient } from "../Transient.ts"
import { repairBooks } from "./LedgerRepair.ts"
import * as Statements from "./LedgerStatements.ts"
import * as VerificationRuns from "./VerificationRuns.ts"

export interface LedgerOptions {
  /** Enables sweeping of expired holds and old idempotency keys. True by default, false in commands. */
  readonly hasUpkeep?: boolean | undefined
  /** Exceeds the longest request plus its drain. With the sweep, credits return within two minutes of a crash (R29). */
  readonly lease?: Duration.Duration | undefined
  readonly sweepInterval?: Duration.Duration | undefined
  /** Well below a day, so that a partition is empty before its day. */
  readonly keysClearingInterval?: Duration.Duration | undefined
}

const defaultLease = Duration.seconds(105)
const defaultSweepInterval = Duration.seconds(5)
const defaultKeysClearingInterval = Duration.hours(1)
/** Accounts in one sweep statement, which holds the locks on their wallets until it commits. */
const maxSweptAccounts = 500
/** A request finds its period ended at most once. The other attempts cover a concurrent plan change. */
const maxReserveAttempts = 5

interface Deps {
  readonly sql: SqlClient.SqlClient
  readonly clock: StoreClock["Service"]
  readonly ids: Ids["Service"]
  readonly submitReservation: Effect.Success<ReturnType<typeof Statements.reservations>>
  readonly submitKeyedReservation: Effect.Success<ReturnType<typeof Statements.keyedReservations>>
  readonly submitKeyedEnding: Effect.Success<ReturnType<typeof Statements.keyedEndings>>
  readonly submitOpening: Effect.Success<ReturnType<typeof Statements.openings>>
  readonly submitEnding: Effect.Success<ReturnType<typeof Statements.endings>>
  readonly submitPart: Effect.Success<ReturnType<typeof Statements.parts>>
}

const openPeriod = Effect.fnUntraced(function* (deps: Deps, accountId: string, terms: Statements.TermsRow) {
  const now = yield* storeTime(deps.clock)
  const { cycle_start: cycleStart, plan } = terms
  const period = periodAt(plan, cycleStart?.getTime(), now)
  if (period === undefined) return yield* Effect.die(new Error(`account ${accountId} has no trial allowance`))
  yield* deps.submitOpening({ accountId, plan, cycleStart, period })
})

const submitted = Effect.fnUntraced(function* (
  deps: Deps,
  account: Account,
  reservation: Statements.Reservation,
  submit: Effect.Effect<Statements.ReserveRow>
) {
  for (let attempt = 1; attempt <= maxReserveAttempts; attempt++) {
    const row = yield* submit
    switch (row.status) {
      case "exceeded":
        return yield* QuotaExceeded.of(toAllowance(row), reservation.credits)
      case "over_budget":
      case "over_member_budget":
        return yield* overBudget(deps, account, reservation, row)
      case "unknown":
        return yield* unauthorized
      case "stale":
        yield* openPeriod(deps, account.id, row)
        break
      default:
        return row
    }
  }
  return yield* Effect.die(new Error(`the period of account ${account.id} could not be opened`))
})

const reserve = (deps: Deps) =>
  Effect.fnUntraced(function* (account: Account, credits: number, budgets?: Budgets) {
    const reservation = { holdId: yield* deps.ids.make("hld_"), accountId: account.id, credits, budgets }
    const row = yield* submitted(deps, account, reservation, deps.submitReservation(reservation))
    return toHold(reservation, row)
  })

const reserveKeyed = (deps: Deps) =>
  Effect.fnUntraced(function* (
    account: Account,
    credits: number,
    request: KeyedRequest,
    budgets?: Budgets
  ): Effect.fn.Return<KeyedReservation, ReserveError> {
    const reservation = { holdId: yield* deps.ids.make("hld_"), accountId: account.id, credits, request, budgets }
    const row = yield* submitted(deps, account, reservation, deps.submitKeyedReservation(reservation))
    switch (row.status) {
      case "held":
        return { _tag: "held", hold: toHold(reservation, row) }
      case "answered":
        return {
          _tag: "answered",
          text: yield* AnswerBytes.unpack(row.answer),
          allowance: yield* presentAllowance(deps, account, row)
        }
      default:
        return { _tag: row.status }
    }
  })

const settle = (deps: Deps) =>
  Effect.fnUntraced(function* (hold: Hold, records: ReadonlyArray<LogEntry>, answer?: KeyedAnswer) {
    const charge = records.reduce((sum, record) => sum + record.credits, 0)
    const held = hold.fromQuota + hold.fromBalance
    if (charge > held) return yield* Effect.die(new RangeError(`hold ${hold.id}: ${charge} charged of ${held} held`))
    const ending = { hold, charge, records, sent: false }
    const settlement =
      answer === undefined || charge === 0
        ? yield* deps.submitEnding(ending)
        : yield* deps.submitKeyedEnding({
            ...ending,
            request: answer.request,
            answer: yield* AnswerBytes.pack(answer.text)
          })
    return settlement === "expired" ? yield* new HoldExpired({ holdId: hold.id }) : settlement
  })

const settlePart = (deps: Deps) =>
  Effect.fnUntraced(function* (hold: Hold, record: LogEntry) {
    const { credits } = record
    if (credits < 1) return yield* Effect.die(new RangeError(`hold ${hold.id}: a part of ${credits} credits`))
    const outcome = yield* deps.submitPart({ hold, id: yield* deps.ids.make("hld_"), record })
    if (outcome === "expired") return yield* new HoldExpired({ holdId: hold.id })
  })

const termsOf = (deps: Deps, accountId: string, now: number) =>
  Effect.flatMap(retryTransient(Statements.readTerms(deps.sql, accountId, now)), (row) =>
    row === undefined ? Effect.die(new Error(`account ${accountId} does not exist`)) : Effect.succeed(row)
  )

const allowance = (deps: Deps) =>
  Effect.fn("Ledger.allowance")(function* (account: Account) {
    for (let attempt = 1; attempt <= maxReserveAttempts; attempt++) {
      const now = yield* storeTime(deps.clock)
      const { is_deleted, is_open, ...row } = yield* termsOf(deps, account.id, now)
      if (is_deleted) return yield* unauthorized
      if (is_open) return toAllowance(row)
      yield* openPeriod(deps, account.id, row)
    }
    return yield* Effect.die(new Error(`the period of account ${account.id} could not be opened`))
  }, dieOnSqlError)

const peekTrial = ({ sql }: Deps, account: Account) =>
  Effect.map(Statements.readTrial(sql, account), (trial) => {
    const used = Number(trial?.used ?? 0)
    return { used, quota: Math.max(trial?.is_taken === true ? 0 : (account.quota ?? 0), used) }
  })

const peekPeriod = ({ sql }: Deps, { id, quota }: Account, period: Period) =>
  Effect.map(Statements.readPeriod(sql, id, period), (counted) =>
    counted === undefined
      ? { used: 0, quota }
      : { used: Number(counted.used), quota: counted.quota === null ? undefined : Number(counted.quota) }
  )

/** Opens no period. Usage is zero if the account has not searched in the period. */
const peek = (deps: Deps) =>
  Effect.fn("Ledger.peek")(function* (account: Account): Effect.fn.Return<Allowance, SqlError.SqlError> {
    const now = yield* storeTime(deps.clock)
    const { is_open, ...row } = yield* termsOf(deps, account.id, now)
    if (is_open) return toAllowance(row)
    const terms = accountAt(account, now)
    const { cycleStart, plan } = terms
    const period = periodAt(plan, cycleStart, now)
    // The plan changed within a period: `ledger_advance` leaves the period unchanged.
    if (period !== undefined && row.period_end !== null && row.period_end.getTime() > now) {
      return toAllowance({ ...row, plan })
    }
    const { used, quota } = yield* retryTransient(
      period === undefined ? peekTrial(deps, terms) : peekPeriod(deps, terms, period)
    )
    const balance = Number(row.balance)
    return { plan, quota, used, balance, periodStart: period?.start, resetsAt: period?.end }
  }, Effect.orDie)

const presentAllowance = Effect.fnUntraced(function* (deps: Deps, account: Account, row: Statements.TermsRow) {
  const hasEnded = row.period_end !== null && row.period_end.getTime() <= (yield* storeTime(deps.clock))
  return hasEnded ? yield* allowance(deps)(account) : toAllowance(row)
})

const overBudget = Effect.fnUntraced(function* (
  deps: Deps,
  account: Account,
  { budgets, credits }: Statements.Reservation,
  row: Statements.OverBudgetRow
) {
  const budgetId = row.status === "over_budget" ? budgets?.own : budgets?.member
  const budget = { credits: Number(row.budget_credits), period: row.budget_period, budgetId }
  const spent = Number(row.budget_spent)
  return yield* QuotaExceeded.ofBudget(yield* presentAllowance(deps, account, row), credits, budget, spent)
})

const grant = (deps: Deps) =>
  Effect.fn("Ledger.grant")(function* (
    accountId: string,
    credits: number,
    reason: string,
    idempotencyKey: string | undefined
  ) {
    // All attempts share one cause: if the first response was lost, the retry adds nothing.
    const cause = idempotencyKey === undefined ? `grant:${yield* deps.ids.requestId}` : `grant-key:${idempotencyKey}`
    const row = yield* Effect.orDie(
      retryTransient(Statements.addCredits(deps.sql, { accountId, credits, reason, cause }))
    )
    if (row?.status === "different") return yield* GrantDiffers.of(idempotencyKey ?? "")
    const balance = row?.balance ?? null
    return balance === null ? yield* new NotFound({ message: `There is no account ${accountId}.` }) : Number(balance)
  })

const adjust = (deps: Deps) =>
  Effect.fn("Ledger.adjust")(function* (adjustment: Adjustment) {
    const cause = `adjustment:${yield* deps.ids.requestId}`
    for (let attempt = 1; attempt <= maxReserveAttempts; attempt++) {
      const row = yield* retryTransient(Statements.adjustCredits(deps, adjustment, cause))
      if (row === undefined) return yield* noSuchAccount(adjustment.accountId)
      switch (row.status) {
        case "adjusted":
          return toAllowance(row)
        case "impossible":
          return yield* CorrectionImpossible.ofAdjustment(adjustment, { ...toAllowance(row), held: Number(row.held) })
        case "stale":
          yield* openPeriod(deps, adjustment.accountId, row)
      }
    }
    return yield* Effect.die(new Error(`the period of account ${adjustment.accountId} could not be opened`))
  }, dieOnSqlError)

const repair = (deps: Deps) =>
  Effect.fn("Ledger.repair")(function* (repair: Repair) {
    const cause = `repair:${yield* deps.ids.requestId}`
    return yield* Effect.provideService(repairBooks(repair, cause), SqlClient.SqlClient, deps.sql)
  }, dieOnSqlError)

const verify = (sql: SqlClient.SqlClient, options: { readonly isFull: boolean }) =>
  Effect.map(Effect.orDie(retryTransient(VerificationRuns.verify(sql, options))), ({ discrepancies }) => discrepancies)

const sweep = (sql: SqlClient.SqlClient): Effect.Effect<number, SqlError.SqlError> =>
  Effect.flatMap(Statements.sweepHolds(sql, maxSweptAccounts), (swept) =>
    swept < maxSweptAccounts ? Effect.succeed(swept) : Effect.map(sweep(sql), (more) => swept + more)
  )

const sweepCounted = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const swept = yield* sweep(sql)
  yield* Metric.update(holdsSwept.of(), swept)
  if (swept > 0) yield* Effect.logWarning(`The credits of ${swept} expired holds were returned.`)
})

const keepUp = Effect.fnUntraced(function* ({ clock, sql }: Deps, options: LedgerOptions) {
  const sweeps = logFailure(sweepCounted(sql), "Expired holds could not be swept. This will be retried.")
  const clears = logFailure(
    retryTransient(Statements.clearKeys(sql, clock)),
    "Old idempotency keys could not be cleared."
  )
  yield* ifActing(runRepeatedly(sweeps, options.sweepInterval ?? defaultSweepInterval))
  yield* ifActing(runRepeatedly(clears, options.keysClearingInterval ?? defaultKeysClearingInterval))
})

export const layer = (
  options: LedgerOptions = {}
): Layer.Layer<Ledger, never, SqlClient.SqlClient | Ids | StoreClock> =>
  Layer.effect(
    Ledger,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const lease = options.lease ?? defaultLease
      const ofReplica = { leaseMs: Duration.toMillis(lease), replicaId: yield* ReplicaId }
      const clock = yield* StoreClock
      const deps: Deps = {
        sql,
        clock,
        ids: yield* Ids,
        submitReservation: yield* Statements.reservations(sql, clock, ofReplica),
        submitKeyedReservation: yield* Statements.keyedReservations(sql, clock, ofReplica),
        submitKeyedEnding: yield* Statements.keyedEndings(sql, lease),
        submitOpening: yield* Statements.openings(sql, clock),
        submitEnding: yield* Statements.endings(sql, lease),
        submitPart: yield* Statements.parts(sql, lease)
      }
      if (options.hasUpkeep !== false) yield* keepUp(deps, options)
      return Ledger.of({
        reserve: reserve(deps),
        reserveKeyed: reserveKeyed(deps),
        settle: settle(deps),
        settlePart: settlePart(deps),
        allowance: allowance(deps),
        peek: peek(deps),
        grant: grant(deps),
        adjust: adjust(deps),
        sweep: Effect.orDie(retryTransient(sweep(sql))),
        verify: verify(sql, { isFull: false }),
        verifyFully: verify(sql, { isFull: true }),
        repair: repair(deps)
      })
    })
  )

const toAllowance = (row: Statements.TermsRow): Allowance => ({
  plan: row.plan,
  quota: row.quota === null ? undefined : Number(row.quota),
  used: Number(row.used),
  balance: Number(row.balance),
  periodStart: row.period_end === null ? undefined : row.period_start?.getTime(),
  resetsAt: row.period_end?.getTime()
})

const toHold = ({ accountId, holdId }: Statements.Reservation, row: Statements.HeldRow): Hold => ({
  id: holdId,
  accountId,
  fromQuota: Number(row.from_quota),
  fromBalance: Number(row.from_balance),
  before: toAllowance(row)
})
