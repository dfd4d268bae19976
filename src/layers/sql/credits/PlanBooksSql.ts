import { Effect, Layer, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { isInForce, limitsAfter } from "../../../domain/billing/PlanHistory.ts"
import { type PlanTable, periodAt, plans, standardPlans, type TermsTable } from "../../../domain/credits/Plan.ts"
import { PlanBooks } from "../../../services/credits/PlanBooks.ts"
import { Plans } from "../../../services/credits/Plans.ts"
import { StoreClock, storeTime } from "../../../services/StoreClock.ts"
import { AccountRow, toAccount } from "../accounts/AccountsSql.ts"
import { columnsOf, idRows, rowsOf } from "../Rows.ts"
import { retryTransient } from "../Transient.ts"
import * as PlanVersions from "./PlanVersions.ts"

interface Deps {
  readonly sql: SqlClient.SqlClient
  readonly clock: StoreClock["Service"]
  readonly own: PlanTable
}

/** Accounts in one transaction, which holds the locks on their wallets until it commits. */
const maxTogether = 200

const enact = ({ clock, own, sql }: Deps) =>
  Effect.gen(function* () {
    // Replicas that start together wait for each other, so that only one writes a version.
    yield* sql`lock table plan_versions in share row exclusive mode`
    const [stored] = yield* sql`select from plan_versions limit 1`
    // Existing accounts have the standard plans, which were in force before the first plans file.
    if (stored === undefined) yield* PlanVersions.add(sql, standardPlans, 0)
    const history = yield* PlanVersions.read(sql, own)
    if (!isInForce(own, history)) yield* PlanVersions.add(sql, own, yield* storeTime(clock))
  }).pipe(sql.withTransaction, retryTransient, Effect.withSpan("PlanBooks.enact"), Effect.orDie)

const limitsJson = (terms: TermsTable): string =>
  JSON.stringify(
    plans.map((plan) => ({ plan, quota: terms[plan].quota ?? null, concurrency: terms[plan].concurrency }))
  )

/** Ordered by ID. A plan change that is due is applied first, separately. */
const candidates = ({ own, sql }: Deps, after: string, now: Date) =>
  idRows(sql`
  with own as (
    select * from json_to_recordset(${limitsJson(own)}::json) as t (plan text, quota bigint, concurrency integer)
  ), followed as (
    select a.id, a.plan, a.next_plan_at, a.quota, a.concurrency, a.next_quota, a.next_concurrency,
      a.next_plan is not null and a.next_plan <> a.plan as has_next_plan,
      case when a.quota_agreed then a.quota else coalesce(own.quota, a.quota) end as own_quota,
      case when a.concurrency_agreed then a.concurrency else own.concurrency end as own_concurrency,
      coalesce(ahead.quota, a.next_quota) as ahead_quota, ahead.concurrency as ahead_concurrency
    from accounts a join own on own.plan = a.plan left join own ahead on ahead.plan = a.next_plan
    where a.id > ${after} and a.deleted_at is null and coalesce(a.next_plan_at > ${now}, true)
  )
  select id from followed
  where own_quota > quota or own_concurrency > concurrency
    or (plan <> 'trial' and next_plan_at is null and (own_quota < quota or own_concurrency < concurrency))
    or (has_next_plan and (ahead_quota <> next_quota or ahead_concurrency <> next_concurrency))
    or (not has_next_plan and next_plan_at is not null
      and (own_quota <> next_quota or own_concurrency <> next_concurrency))
  order by id limit ${maxTogether}`)

const HeldRow = Schema.Struct({ ...AccountRow.fields, period_end: Schema.NullOr(Schema.Date) })
const heldRows = rowsOf(HeldRow)

const changeOf = (row: typeof HeldRow.Type, own: PlanTable, now: number) => {
  const account = toAccount(row)
  const { agreedConcurrency = false, agreedQuota = false, cycleStart, id, next, plan, quota } = account
  const running = row.period_end !== null && row.period_end.getTime() > now ? row.period_end.getTime() : undefined
  const end = running ?? periodAt(plan, cycleStart, now)?.end
  const held = { plan, quota, concurrency: account.concurrency, agreedConcurrency, agreedQuota, next }
  const after = limitsAfter(held, own, end)
  return {
    id,
    quota: after.quota ?? null,
    concurrency: after.concurrency,
    gained: (after.quota ?? 0) - (quota ?? 0),
    next_plan: after.next?.plan ?? null,
    next_quota: after.next?.quota ?? null,
    next_concurrency: after.next?.concurrency ?? null,
    next_plan_at: after.next === undefined ? null : new Date(after.next.at).toISOString()
  }
}

/** Holds the wallets' locks. A trial whose mailbox already used its grant in another account gains nothing (R32). */
const changeTogether = ({ clock, own, sql }: Deps, ids: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    yield* sql`select from wallets where account_id = any (${ids}::text[]) order by account_id for update`
    const now = yield* storeTime(clock)
    const rows = yield* heldRows(sql`
      select ${sql.literal(columnsOf(AccountRow, "a"))}, l.period_end
      from accounts a left join allowances l on l.id = a.allowance_id
      where a.id = any (${ids}::text[]) and a.deleted_at is null and coalesce(a.next_plan_at > ${new Date(now)}, true)`)
    yield* sql`
      with changed as (
        select * from json_to_recordset(${JSON.stringify(rows.map((row) => changeOf(row, own, now)))}::json) as t (
          id text, quota bigint, concurrency integer, gained bigint, next_plan text, next_quota bigint,
          next_concurrency integer, next_plan_at timestamptz
        )
      ), gained as (
        update allowances l set quota = l.quota + t.gained
        from changed t join accounts a on a.id = t.id
        where l.id = a.allowance_id and t.gained > 0 and coalesce(l.period_end > ${new Date(now)}, true)
          and l.scope <> trial_scope(trial_mailbox(a.email)) || ':' || a.id
      )
      update accounts a set quota = t.quota, concurrency = t.concurrency, next_plan = t.next_plan,
        next_quota = t.next_quota, next_concurrency = t.next_concurrency, next_plan_at = t.next_plan_at
      from changed t where a.id = t.id`
    return rows.length
  }).pipe(sql.withTransaction, retryTransient)

const apply = (deps: Deps) => {
  const { clock, own, sql } = deps
  const from = (after: string): Effect.Effect<number, SqlError.SqlError> =>
    Effect.gen(function* () {
      const found = yield* retryTransient(candidates(deps, after, new Date(yield* storeTime(clock))))
      const last = found.at(-1)
      if (last === undefined) return 0
      const changed = yield* changeTogether(
        deps,
        found.map(({ id }) => id)
      )
      return found.length < maxTogether ? changed : changed + (yield* from(last.id))
    })
  return Effect.gen(function* () {
    return isInForce(own, yield* retryTransient(PlanVersions.read(sql, own))) ? yield* from("") : 0
  }).pipe(Effect.withSpan("PlanBooks.apply"), Effect.orDie)
}

export const layer: Layer.Layer<PlanBooks, never, SqlClient.SqlClient | Plans | StoreClock> = Layer.effect(
  PlanBooks,
  Effect.gen(function* () {
    const deps: Deps = { sql: yield* SqlClient.SqlClient, clock: yield* StoreClock, own: yield* Plans }
    return PlanBooks.of({ enact: enact(deps), apply: apply(deps) })
  })
)
