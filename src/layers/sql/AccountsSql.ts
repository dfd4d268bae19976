import { createHash } from "node:crypto"
import { Clock, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { Account } from "../../domain/Account.ts"
import type { NotFound } from "../../domain/errors.ts"
import { normalizeEmail, type PaidPlan, type Plan, periodAt, planTerms } from "../../domain/Plan.ts"
import {
  AccountRefused,
  Accounts,
  addressForTrial,
  noSuchAccount,
  type PlanChoice,
  termsOf
} from "../../services/Accounts.ts"
import { Ids } from "../../services/Ids.ts"
import { retryTransient } from "./Transient.ts"

export interface AccountRow {
  readonly id: string
  readonly email: string
  readonly plan: Plan
  readonly quota: bigint | null
  readonly concurrency: number
  readonly cycle_start: Date | null
  readonly created_at: Date
}

export const toAccount = (row: AccountRow): Account => ({
  id: row.id,
  email: row.email,
  plan: row.plan,
  quota: row.quota === null ? undefined : Number(row.quota),
  concurrency: row.concurrency,
  cycleStart: row.cycle_start?.getTime(),
  createdAt: row.created_at.getTime()
})

const toDate = (millis: number | undefined): Date | null => (millis === undefined ? null : new Date(millis))

/** The scope of an address's trial: a digest, so that the grant outlives the account without keeping the address. */
const trialScope = (email: string): string => `trial:${createHash("sha256").update(email).digest("hex")}`

/** Accounts in Postgres or PGlite. */
export const layer: Layer.Layer<Accounts, never, SqlClient.SqlClient | Ids> = Layer.effect(
  Accounts,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const ids = yield* Ids

    /**
     * Points the account at the allowance of its plan's running period. One that is there already keeps what was used
     * of it (R31, R32), and its quota is never set below that; without `quota` it keeps its quota too.
     */
    const enterPeriod = Effect.fnUntraced(function* (account: Account, quota: number | undefined) {
      const period = periodAt(account.plan, account.cycleStart, yield* Clock.currentTimeMillis)
      yield* addressForTrial(account.plan, account.email)
      const scope = period === undefined ? trialScope(account.email) : account.id
      yield* sql`
        with entered as (
          insert into allowances as l (scope, period_start, period_end, quota)
          values (
            ${scope}, ${new Date(period?.start ?? 0)}, ${toDate(period?.end)}::timestamptz, ${account.quota ?? null}::bigint
          )
          on conflict (scope, period_start) do update
            set quota = case when ${quota ?? null}::bigint is null then l.quota else greatest(${quota ?? null}::bigint, l.used) end
          returning id
        )
        update accounts set allowance_id = entered.id from entered where accounts.id = ${account.id}`
    })

    const create = Effect.fn("Accounts.create")(
      function* (choice: PlanChoice & { readonly email: string }) {
        const { concurrency, quota } = yield* termsOf(choice)
        const account: Account = {
          id: yield* ids.make("acc_"),
          email: normalizeEmail(choice.email),
          plan: choice.plan,
          quota,
          concurrency,
          cycleStart: choice.cycleStart,
          createdAt: yield* Clock.currentTimeMillis
        }
        const inserted = yield* sql`
          insert into accounts (id, email, plan, quota, concurrency, cycle_start, created_at)
          values (
            ${account.id}, ${account.email}, ${account.plan}, ${quota}, ${concurrency},
            ${toDate(account.cycleStart)}::timestamptz, ${new Date(account.createdAt)}
          )
          on conflict do nothing
          returning id`
        if (inserted.length === 0) return yield* AccountRefused.taken(account.email)
        yield* sql`insert into wallets (account_id) values (${account.id})`
        yield* enterPeriod(account, choice.quota)
        return account
      },
      sql.withTransaction,
      Effect.catchTag("SqlError", Effect.die)
    )

    const setPlan = Effect.fn("Accounts.setPlan")(
      function* (id: string, choice: PlanChoice) {
        const { concurrency, quota } = yield* termsOf(choice)
        yield* sql`select from wallets where account_id = ${id} for update`
        const rows = yield* sql<AccountRow & { readonly subscriber: boolean }>`
          update accounts set plan = ${choice.plan}, quota = ${quota}, concurrency = ${concurrency},
            cycle_start = case when ${choice.plan} = 'trial' then null
              else coalesce(${toDate(choice.cycleStart)}::timestamptz, cycle_start) end
          where id = ${id} and deleted_at is null
          returning *, marketplace_user is not null as subscriber`
        const row = yield* first(rows, id)
        if (row.subscriber) return yield* AccountRefused.subscriber
        const account = toAccount(row)
        yield* enterPeriod(account, quota)
        return account
      },
      sql.withTransaction,
      Effect.catchTag("SqlError", Effect.die)
    )

    const subscriber = Effect.fnUntraced(function* (user: string) {
      const [row] = yield* sql<AccountRow>`select * from accounts where marketplace_user = ${user}`
      return row === undefined ? undefined : toAccount(row)
    })

    const subscribe = Effect.fnUntraced(function* (user: string, plan: PaidPlan) {
      const createdAt = yield* Clock.currentTimeMillis
      const account: Account = {
        id: yield* ids.make("acc_"),
        email: "",
        plan,
        quota: undefined,
        concurrency: planTerms[plan].concurrency,
        cycleStart: undefined,
        createdAt
      }
      const inserted = yield* sql`
        insert into accounts (id, email, plan, quota, concurrency, created_at, marketplace_user)
        values (${account.id}, '', ${plan}, null, ${account.concurrency}, ${new Date(createdAt)}, ${user})
        on conflict (marketplace_user) where marketplace_user is not null do nothing
        returning id`
      // Another request, here or on another replica, was the first to see this subscriber.
      if (inserted.length === 0) return yield* subscriber(user)
      yield* sql`insert into wallets (account_id) values (${account.id})`
      return account
    }, sql.withTransaction)

    const ofSubscriber = Effect.fn("Accounts.ofSubscriber")(function* (user: string, plan: PaidPlan) {
      const account =
        (yield* retryTransient(subscriber(user))) ??
        (yield* retryTransient(subscribe(user, plan))) ??
        (yield* Effect.die(new Error("a marketplace subscriber's account was made and is not there")))
      if (account.plan === plan) return account
      // The operator has changed the mapping since: usage goes on being counted where it was.
      const { concurrency } = planTerms[plan]
      yield* retryTransient(
        sql`update accounts set plan = ${plan}, concurrency = ${concurrency} where id = ${account.id}`
      )
      return { ...account, plan, concurrency }
    }, Effect.orDie)

    const remove = Effect.fn("Accounts.remove")(
      function* (id: string) {
        const now = new Date(yield* Clock.currentTimeMillis)
        yield* sql`select from wallets where account_id = ${id} for update`
        const rows = yield* sql`
          update accounts set email = '', marketplace_user = null, deleted_at = ${now}
          where id = ${id} and deleted_at is null
          returning id`
        yield* first(rows, id)
        yield* sql`
          update api_keys set revoked_at = coalesce(revoked_at, ${now}), label = '', hint = '' where account_id = ${id}`
      },
      sql.withTransaction,
      Effect.catchTag("SqlError", Effect.die)
    )

    return Accounts.of({
      create,
      setPlan,
      ofSubscriber,
      remove,
      byId: Effect.fn("Accounts.byId")(
        function* (id) {
          const rows = yield* retryTransient(
            sql<AccountRow>`select * from accounts where id = ${id} and deleted_at is null`
          )
          return toAccount(yield* first(rows, id))
        },
        Effect.catchTag("SqlError", Effect.die)
      ),
      byEmail: Effect.fn("Accounts.byEmail")(
        function* (email) {
          const address = normalizeEmail(email)
          const rows = yield* retryTransient(
            sql<AccountRow>`
              select * from accounts where email = ${address} and email <> '' and deleted_at is null`
          )
          return toAccount(yield* first(rows, address))
        },
        Effect.catchTag("SqlError", Effect.die)
      )
    })
  })
)

const first = <Row>(rows: ReadonlyArray<Row>, what: string): Effect.Effect<Row, NotFound> => {
  const row = rows[0]
  return row === undefined ? Effect.fail(noSuchAccount(what)) : Effect.succeed(row)
}
