import { Effect, Layer, Schema } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import { soldPlans } from "../../../domain/billing/Purchase.ts"
import { Plan } from "../../../domain/credits/Plan.ts"
import { maxListed, type OpenSubscription, OperatorFigures } from "../../../services/operations/OperatorFigures.ts"
import * as VerificationRuns from "../credits/VerificationRuns.ts"
import { rowOf, rowsOf } from "../Rows.ts"
import { read } from "../Transaction.ts"

const seenRow = rowOf(Schema.Struct({ seen_at: Schema.NullOr(Schema.Date) }))

const planRows = rowsOf(Schema.Struct({ plan: Plan, accounts: Schema.Int, suspended: Schema.Int }))

const revenueRows = rowsOf(
  Schema.Struct({
    kind: Schema.Literals(["pack", "plan"]),
    orders: Schema.Int,
    net_cents: Schema.BigInt,
    refunded_cents: Schema.BigInt
  })
)

const SubscriptionRow = Schema.Struct({
  id: Schema.String,
  account_id: Schema.String,
  email: Schema.String,
  plan: Schema.Literals(soldPlans),
  status: Schema.Literals(["active", "past_due"]),
  period_end: Schema.Date,
  past_due_at: Schema.NullOr(Schema.Date)
})

const subscriptionRows = rowsOf(SubscriptionRow)

const toSubscription = (row: typeof SubscriptionRow.Type): OpenSubscription => ({
  id: row.id,
  accountId: row.account_id,
  email: row.email,
  plan: row.plan,
  status: row.status,
  periodEnd: row.period_end.getTime(),
  pastDueAt: row.past_due_at?.getTime()
})

const subscriptions = (sql: SqlClient.SqlClient, which: Statement.Fragment, order: string) =>
  read(
    subscriptionRows(sql`
      select s.id, s.account_id, a.email, s.plan, s.status, s.period_end, s.past_due_at
      from billing_subscriptions s join accounts a on a.id = s.account_id and a.deleted_at is null
      where s.status <> 'ended' and ${which} order by ${sql.literal(order)} limit ${maxListed}`),
    (rows) => rows.map(toSubscription)
  )

const lastSeen = (sql: SqlClient.SqlClient, accountId: string) =>
  read(
    seenRow(sql`
      select greatest(
        (select max(last_used_at) from api_keys where account_id = ${accountId}),
        (select max(updated_at) from auth_sessions where account_id = ${accountId})
      ) as seen_at`),
    (row) => row?.seen_at?.getTime()
  )

export const layer: Layer.Layer<OperatorFigures, never, SqlClient.SqlClient> = Layer.effect(
  OperatorFigures,
  Effect.map(SqlClient.SqlClient, (sql) =>
    OperatorFigures.of({
      lastVerification: read(VerificationRuns.readLast(sql), (row) =>
        row === undefined
          ? undefined
          : {
              finishedAt: row.finished_at.getTime(),
              seconds: row.seconds,
              accounts: Number(row.accounts),
              problems: {
                quota: Number(row.quota_problems),
                balance: Number(row.balance_problems),
                log: Number(row.log_problems),
                closed: Number(row.closed_problems)
              }
            }
      ),
      lastSeen: (accountId) => lastSeen(sql, accountId),
      plans: read(
        planRows(sql`
          select plan, count(*)::int as accounts, count(suspended_at)::int as suspended
          from accounts where deleted_at is null group by plan order by plan`),
        (rows) => rows
      ),
      revenue: (since) =>
        read(
          revenueRows(sql`
            select kind, count(*)::int as orders, sum(net_cents)::bigint as net_cents,
              sum(refunded_cents)::bigint as refunded_cents
            from billing_orders where status = 'paid' and created_at >= ${new Date(since)} group by kind order by kind`),
          (rows) =>
            rows.map(({ kind, net_cents, orders, refunded_cents }) => ({
              kind,
              orders,
              netCents: Number(net_cents),
              refundedCents: Number(refunded_cents)
            }))
        ),
      secondSubscriptions: subscriptions(
        sql,
        sql`s.account_id in (
          select account_id from billing_subscriptions where status <> 'ended' group by account_id having count(*) > 1
        )`,
        "s.account_id, s.started_at"
      ),
      unpaid: subscriptions(sql, sql`s.status = 'past_due'`, "s.past_due_at, s.id")
    })
  )
)
