import { Effect, Layer, Schema } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import type { Account } from "../../../domain/accounts/Account.ts"
import { normalizeEmail } from "../../../domain/accounts/emailAddress.ts"
import { type PaidPlan, Plan, type PlanTable, periodAt } from "../../../domain/credits/Plan.ts"
import type { NotFound } from "../../../domain/errors.ts"
import { hintPrefix, isKey } from "../../../domain/keys/ApiKey.ts"
import {
  AccountError,
  type AccountQuery,
  Accounts,
  noSuchAccount,
  type PlanChoice,
  requireTrialAddress,
  termsOf
} from "../../../services/accounts/Accounts.ts"
import { Plans } from "../../../services/credits/Plans.ts"
import { Ids } from "../../../services/Ids.ts"
import { StoreClock, storeTime } from "../../../services/StoreClock.ts"
import { originOf } from "../keys/KeyRows.ts"
import { columnsOf, rowOf, rowsOf } from "../Rows.ts"
import { dieOnSqlError, inTransaction } from "../Transaction.ts"
import { retryTransient } from "../Transient.ts"
import { dropPending } from "../webhooks/EventDrops.ts"

export const AccountRow = Schema.Struct({
  id: Schema.String,
  email: Schema.String,
  plan: Plan,
  quota: Schema.NullOr(Schema.BigInt),
  concurrency: Schema.Int,
  cycle_start: Schema.NullOr(Schema.Date),
  created_at: Schema.Date,
  suspended_at: Schema.NullOr(Schema.Date),
  next_plan: Schema.NullOr(Plan),
  next_quota: Schema.NullOr(Schema.BigInt),
  next_concurrency: Schema.NullOr(Schema.Int),
  next_plan_at: Schema.NullOr(Schema.Date),
  pack_rate: Schema.NullOr(Schema.Int),
  quota_agreed: Schema.Boolean,
  concurrency_agreed: Schema.Boolean
})
export type AccountRow = typeof AccountRow.Type

/** The columns are null together, except the quota, which is null for unlimited usage. */
const toNext = ({ next_concurrency, next_plan, next_plan_at, next_quota }: AccountRow): Pick<Account, "next"> =>
  next_plan === null || next_concurrency === null || next_plan_at === null
    ? {}
    : {
        next: {
          plan: next_plan,
          quota: next_quota === null ? undefined : Number(next_quota),
          concurrency: next_concurrency,
          at: next_plan_at.getTime()
        }
      }

export const toAccount = (row: AccountRow): Account => ({
  id: row.id,
  email: row.email,
  plan: row.plan,
  quota: row.quota === null ? undefined : Number(row.quota),
  concurrency: row.concurrency,
  cycleStart: row.cycle_start?.getTime(),
  createdAt: row.created_at.getTime(),
  suspendedAt: row.suspended_at?.getTime(),
  ...(row.quota_agreed ? { agreedQuota: true } : {}),
  ...(row.concurrency_agreed ? { agreedConcurrency: true } : {}),
  ...toNext(row),
  ...(row.pack_rate === null ? {} : { packRate: row.pack_rate })
})

const accountColumns = columnsOf(AccountRow)
const accountRow = rowOf(AccountRow)
const accountRows = rowsOf(AccountRow)
const changedRow = rowOf(Schema.Struct({ ...AccountRow.fields, subscriber: Schema.Boolean }))

interface Deps {
  readonly sql: SqlClient.SqlClient
  readonly clock: StoreClock["Service"]
  readonly ids: Ids["Service"]
  readonly plans: PlanTable
}

const toDate = (millis: number | undefined): Date | null => (millis === undefined ? null : new Date(millis))

/**
 * An existing allowance keeps its used credits, and its quota never drops below them (R31, R32). Without `quota` it
 * also keeps its quota. `own` is the quota for a trial whose mailbox has already used its grant in another account.
 */
const enterPeriod = Effect.fnUntraced(function* (
  { clock, sql }: Deps,
  account: Account,
  { own = 0, quota }: { readonly quota?: number | undefined; readonly own?: number | undefined }
) {
  const period = periodAt(account.plan, account.cycleStart, yield* storeTime(clock))
  yield* requireTrialAddress(account.plan, account.email)
  if (period === undefined) {
    yield* sql`
      update accounts set allowance_id = trial_enter(
        id, email, ${account.quota ?? null}::bigint, ${quota !== undefined}::boolean, ${own}::bigint
      )
      where id = ${account.id}`
    return
  }
  yield* sql`
    with entered as (
      insert into allowances as l (scope, period_start, period_end, quota)
      values (
        ${account.id}, ${new Date(period.start)}, ${new Date(period.end)}, ${account.quota ?? null}::bigint
      )
      on conflict (scope, period_start) do update
        set quota = case when ${quota ?? null}::bigint is null then l.quota
          else greatest(${quota ?? null}::bigint, l.used) end
      returning id
    )
    update accounts set allowance_id = entered.id from entered where accounts.id = ${account.id}`
})

const create = (deps: Deps) => {
  const { clock, ids, plans, sql } = deps
  return Effect.fn("Accounts.create")(function* (choice: PlanChoice & { readonly email: string }) {
    const { agreed, concurrency, quota } = yield* termsOf(choice, plans)
    const account: Account = {
      id: yield* ids.make("acc_"),
      email: normalizeEmail(choice.email),
      plan: choice.plan,
      quota,
      concurrency,
      cycleStart: choice.cycleStart,
      createdAt: yield* storeTime(clock),
      suspendedAt: undefined,
      ...agreed,
      ...(choice.packRate === undefined ? {} : { packRate: choice.packRate })
    }
    const inserted = yield* sql`
        insert into accounts (
          id, email, plan, quota, concurrency, cycle_start, created_at, pack_rate, quota_agreed, concurrency_agreed
        ) values (
          ${account.id}, ${account.email}, ${account.plan}, ${quota}, ${concurrency},
          ${toDate(account.cycleStart)}::timestamptz, ${new Date(account.createdAt)},
          ${choice.packRate ?? null}::integer, ${agreed.agreedQuota ?? false}, ${agreed.agreedConcurrency ?? false}
        )
        on conflict do nothing
        returning id`
    if (inserted.length === 0) return yield* AccountError.taken(account.email)
    yield* sql`insert into wallets (account_id) values (${account.id})`
    yield* enterPeriod(deps, account, { quota: choice.quota, own: choice.quota })
    return account
  }, inTransaction(sql))
}

const setPlan = (deps: Deps) => {
  const { plans, sql } = deps
  return Effect.fn("Accounts.setPlan")(function* (id: string, choice: PlanChoice) {
    const { agreed, concurrency, quota } = yield* termsOf(choice, plans)
    yield* sql`select from wallets where account_id = ${id} for update`
    const changed = yield* changedRow(sql`
        update accounts set plan = ${choice.plan}, quota = ${quota}, concurrency = ${concurrency},
          cycle_start = case when ${choice.plan} = 'trial' then null
            else coalesce(${toDate(choice.cycleStart)}::timestamptz, cycle_start) end,
          pack_rate = ${choice.packRate ?? null}::integer, quota_agreed = ${agreed.agreedQuota ?? false},
          concurrency_agreed = ${agreed.agreedConcurrency ?? false}, next_plan = null, next_quota = null,
          next_concurrency = null, next_plan_at = null
        where id = ${id} and deleted_at is null
        returning ${sql.literal(accountColumns)}, marketplace_user is not null as subscriber`)
    const row = yield* found(changed, id)
    if (row.subscriber) return yield* AccountError.subscriber
    const account = toAccount(row)
    yield* enterPeriod(deps, account, { quota, own: choice.quota })
    return account
  }, inTransaction(sql))
}

const setEmail = (deps: Deps) => {
  const { sql } = deps
  return Effect.fn("Accounts.setEmail")(
    function* (id: string, email: string) {
      const address = normalizeEmail(email)
      yield* sql`select from wallets where account_id = ${id} for update`
      const changed = yield* changedRow(sql`
        update accounts set email = case when marketplace_user is null then ${address} else '' end
        where id = ${id} and deleted_at is null
        returning ${sql.literal(accountColumns)}, marketplace_user is not null as subscriber`)
      const row = yield* found(changed, id)
      if (row.subscriber) return yield* AccountError.subscriberAddress
      const account = toAccount(row)
      if (account.plan === "trial") yield* enterPeriod(deps, account, {})
      return account
    },
    sql.withTransaction,
    (effect, _, email) =>
      Effect.catchReason(effect, "SqlError", "UniqueViolation", () => AccountError.taken(normalizeEmail(email))),
    dieOnSqlError
  )
}

const suspend = ({ clock, sql }: Deps) =>
  Effect.fn("Accounts.suspend")(
    function* (id: string) {
      const now = new Date(yield* storeTime(clock))
      const row = yield* accountRow(sql`
        update accounts set suspended_at = coalesce(suspended_at, ${now}) where id = ${id} and deleted_at is null
        returning ${sql.literal(accountColumns)}`)
      const account = toAccount(yield* found(row, id))
      yield* dropPending(sql, "suspended", sql`account_id = ${id}`)
      return account
    },
    sql.withTransaction,
    retryTransient,
    dieOnSqlError
  )

const resume = ({ sql }: Deps) =>
  Effect.fn("Accounts.resume")(function* (id: string) {
    const row = yield* accountRow(sql`
        update accounts set suspended_at = null where id = ${id} and deleted_at is null
        returning ${sql.literal(accountColumns)}`)
    return toAccount(yield* found(row, id))
  }, dieOnSqlError)

const readSubscriber = ({ sql }: Deps, user: string) =>
  Effect.map(
    accountRow(sql`select ${sql.literal(accountColumns)} from accounts where marketplace_user = ${user}`),
    (row) => (row === undefined ? undefined : toAccount(row))
  )

const insertSubscriber = (deps: Deps) =>
  Effect.fnUntraced(function* (user: string, plan: PaidPlan) {
    const { clock, ids, plans, sql } = deps
    const createdAt = yield* storeTime(clock)
    const account: Account = {
      id: yield* ids.make("acc_"),
      email: "",
      plan,
      quota: undefined,
      concurrency: plans[plan].concurrency,
      cycleStart: undefined,
      createdAt,
      suspendedAt: undefined
    }
    const inserted = yield* sql`
      insert into accounts (id, email, plan, quota, concurrency, created_at, marketplace_user)
      values (${account.id}, '', ${plan}, null, ${account.concurrency}, ${new Date(createdAt)}, ${user})
      on conflict (marketplace_user) where marketplace_user is not null do nothing
      returning id`
    // A concurrent request, possibly on another replica, inserted this subscriber first.
    if (inserted.length === 0) return yield* readSubscriber(deps, user)
    yield* sql`insert into wallets (account_id) values (${account.id})`
    return account
  }, deps.sql.withTransaction)

const ofSubscriber = (deps: Deps) => {
  const { plans, sql } = deps
  const insert = insertSubscriber(deps)
  return Effect.fn("Accounts.ofSubscriber")(function* (user: string, plan: PaidPlan) {
    const account =
      (yield* retryTransient(readSubscriber(deps, user))) ??
      (yield* retryTransient(insert(user, plan))) ??
      (yield* Effect.die(new Error("a marketplace subscriber's account was made and is not there")))
    if (account.plan === plan) return account
    // MARKETPLACE_PLAN has changed. The account keeps its allowance and therefore its usage.
    const { concurrency } = plans[plan]
    yield* retryTransient(sql`
      update accounts set plan = ${plan}, concurrency = ${concurrency}, next_plan = null, next_quota = null,
        next_concurrency = null, next_plan_at = null
      where id = ${account.id}`)
    const { next: _, ...kept } = account
    return { ...kept, plan, concurrency }
  }, Effect.orDie)
}

/** Events, endpoints and settings contain addresses and names. Deliveries are deleted with their events. */
const removeEvents = ({ sql }: Deps, id: string) =>
  Effect.forEach(
    ["events", "webhook_endpoints", "event_settings"],
    (table) => sql`delete from ${sql(table)} where account_id = ${id}`,
    { discard: true }
  )

const leaveProvider = ({ sql }: Deps, id: string, now: Date) => sql`
  with left_behind as (
    update billing_accounts b set customer_id = null
    from (select account_id, customer_id from billing_accounts where account_id = ${id} for update) as old
    where b.account_id = old.account_id and old.customer_id is not null
    returning old.customer_id
  )
  insert into billing_removals (customer_id, account_id, due_at) select customer_id, ${id}, ${now} from left_behind
  on conflict do nothing`

const remove = (deps: Deps) => {
  const { clock, sql } = deps
  return Effect.fn("Accounts.remove")(function* (id: string) {
    const now = new Date(yield* storeTime(clock))
    yield* sql`select from wallets where account_id = ${id} for update`
    const [removed] = yield* sql`
        update accounts set email = '', marketplace_user = null, deleted_at = ${now}
        where id = ${id} and deleted_at is null
        returning id`
    yield* found(removed, id)
    yield* leaveProvider(deps, id, now)
    yield* removeEvents(deps, id)
    yield* sql`
        delete from key_bounds b using api_keys k
        where k.account_id = ${id} and b.origin_id = ${sql.literal(originOf("k"))}`
    yield* sql`
        update api_keys set revoked_at = least(revoked_at, ${now}), label = '', hint = '', created_by = null
        where account_id = ${id}`
  }, inTransaction(sql))
}

const find = Effect.fnUntraced(function* ({ sql }: Deps, which: Statement.Fragment, idOrAddress: string) {
  const row = yield* retryTransient(
    accountRow(sql`select ${sql.literal(accountColumns)} from accounts where ${which} and deleted_at is null`)
  )
  return toAccount(yield* found(row, idOrAddress))
}, dieOnSqlError)

const byId = (deps: Deps) => Effect.fn("Accounts.byId")((id: string) => find(deps, deps.sql`id = ${id}`, id))

const byEmail = (deps: Deps) =>
  Effect.fn("Accounts.byEmail")((email: string) => {
    const address = normalizeEmail(email)
    return find(deps, deps.sql`email = ${address} and email <> ''`, address)
  })

/** A range of an index in the order of characters, which `like` would use only for a constant. */
const startsWith = (sql: SqlClient.SqlClient, column: string, start: string) => {
  const text = sql.literal(`${column} collate "C"`)
  return sql`${text} >= ${start}::text and ${text} < ${`${start}\u{10ffff}`}::text`
}

/** The accounts that a text finds. Part of a secret finds nothing else: names and addresses do not contain one. */
const matched = (sql: SqlClient.SqlClient, given: string) => {
  if (isKey(given)) return sql`select account_id from api_keys where ${startsWith(sql, "hint", hintPrefix(given))}`
  const text = given.toLowerCase()
  const pattern = text.replaceAll(/[\\%_]/g, "\\$&")
  // Apart, because the planner expects half of all accounts from an OR with a subquery.
  return sql`
    select id from accounts
    where email like ${`%${pattern}%`} or lower(marketplace_user) like ${`%${pattern}%`} or id like ${`${pattern}%`}
    union select account_id from api_keys where ${startsWith(sql, "lower(label)", text)}
    union select account_id from api_keys where id = ${text}`
}

const list = ({ sql }: Deps) =>
  Effect.fn("Accounts.list")(function* ({ after, limit, plan, suspended, text = "" }: AccountQuery) {
    const conditions = [
      sql`deleted_at is null`,
      ...(text === "" ? [] : [sql`id in (${matched(sql, text)})`]),
      ...(plan === undefined ? [] : [sql`plan = ${plan}`]),
      ...(suspended === undefined ? [] : [suspended ? sql`suspended_at is not null` : sql`suspended_at is null`]),
      ...(after === undefined
        ? []
        : [sql`(created_at, id) < ((select created_at from accounts where id = ${after}), ${after}::text)`])
    ]
    const rows = yield* retryTransient(
      accountRows(sql`
        select ${sql.literal(accountColumns)} from accounts where ${sql.and(conditions)}
        order by created_at desc, id desc limit ${limit}`)
    )
    return rows.map(toAccount)
  }, Effect.orDie)

export const layer: Layer.Layer<Accounts, never, SqlClient.SqlClient | Ids | Plans | StoreClock> = Layer.effect(
  Accounts,
  Effect.gen(function* () {
    const deps: Deps = {
      sql: yield* SqlClient.SqlClient,
      clock: yield* StoreClock,
      ids: yield* Ids,
      plans: yield* Plans
    }
    return Accounts.of({
      create: create(deps),
      setPlan: setPlan(deps),
      setEmail: setEmail(deps),
      suspend: suspend(deps),
      resume: resume(deps),
      list: list(deps),
      ofSubscriber: ofSubscriber(deps),
      remove: remove(deps),
      byId: byId(deps),
      byEmail: byEmail(deps)
    })
  })
)

const found = <Row>(row: Row | undefined, idOrAddress: string): Effect.Effect<Row, NotFound> =>
  row === undefined ? Effect.fail(noSuchAccount(idOrAddress)) : Effect.succeed(row)
