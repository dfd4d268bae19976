import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { AccountTerms, BookedSubscription } from "../../../domain/billing/Subscription.ts"

const toDate = (millis: number | undefined): Date | null => (millis === undefined ? null : new Date(millis))

export const writeSubscription = (
  sql: SqlClient.SqlClient,
  accountId: string,
  { sight, subscription }: BookedSubscription
) => sql`
  insert into billing_subscriptions (
    id, account_id, plan, status, period_start, period_end, started_at, cancel_at_period_end, pending_plan, pending_at,
    past_due_at, modified_at, first_plan, steps
  ) values (
    ${subscription.id}, ${accountId}, ${subscription.plan}, ${subscription.status},
    ${new Date(subscription.period.start)}, ${new Date(subscription.period.end)}, ${new Date(subscription.startedAt)},
    ${subscription.cancelAtPeriodEnd}::boolean, ${subscription.pending?.plan ?? null}::text,
    ${toDate(subscription.pending?.at)}::timestamptz, ${toDate(subscription.pastDueAt)}::timestamptz,
    ${new Date(subscription.modifiedAt)},
    ${sight.first}, ${JSON.stringify(sight.steps)}::jsonb
  )
  on conflict (id) do update set plan = excluded.plan, status = excluded.status, period_start = excluded.period_start,
    period_end = excluded.period_end, started_at = excluded.started_at,
    cancel_at_period_end = excluded.cancel_at_period_end, pending_plan = excluded.pending_plan,
    pending_at = excluded.pending_at, past_due_at = excluded.past_due_at, modified_at = excluded.modified_at,
    first_plan = excluded.first_plan, steps = excluded.steps`

/** Moves a period that was opened before the provider's notification (R31), in place: no quota is granted twice. */
const movePeriod = (
  sql: SqlClient.SqlClient,
  accountId: string,
  period: NonNullable<AccountTerms["period"]>,
  startedAt: number
) => sql`
  update allowances set period_start = ${new Date(period.start)}, period_end = ${new Date(period.end)}
  where id = (
    select id from allowances
    where scope = ${accountId} and subscription_id is null and period_start > ${new Date(startedAt)}
      and period_start < ${new Date(period.end)} and period_end > ${new Date(period.start)}
    order by period_start desc limit 1
  ) and not exists (
    select from allowances where scope = ${accountId} and period_start = ${new Date(period.start)}
  )`

const enterPeriod = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  accountId: string,
  period: NonNullable<AccountTerms["period"]>
) {
  if (period.subscription !== undefined) yield* movePeriod(sql, accountId, period, period.subscription.startedAt)
  yield* sql`
    with entered as (
      insert into allowances as l (scope, period_start, period_end, quota, subscription_id)
      values (
        ${accountId}, ${new Date(period.start)}, ${new Date(period.end)}, ${period.quota}::bigint,
        ${period.subscription?.id ?? null}::text
      )
      on conflict (scope, period_start) do update set period_end = excluded.period_end,
        quota = greatest(excluded.quota, l.used), subscription_id = coalesce(excluded.subscription_id, l.subscription_id)
      returning id
    )
    update accounts set allowance_id = entered.id from entered where accounts.id = ${accountId}`
})

const enterTrial = (sql: SqlClient.SqlClient, accountId: string, quota: number) => sql`
  update accounts set allowance_id = trial_enter(id, email, ${quota}::bigint, true, 0) where id = ${accountId}`

/** Usage in a period still counts (R31). */
export const enterTerms = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  accountId: string,
  terms: AccountTerms
) {
  const { next } = terms
  yield* sql`
    update accounts set plan = ${terms.plan}, quota = ${terms.quota}::bigint, concurrency = ${terms.concurrency},
      cycle_start = ${toDate(terms.cycleStart)}::timestamptz, next_plan = ${next?.plan ?? null}::text,
      next_quota = ${next?.quota ?? null}::bigint, next_concurrency = ${next?.concurrency ?? null}::integer,
      next_plan_at = ${toDate(next?.at)}::timestamptz, quota_agreed = false, concurrency_agreed = false
    where id = ${accountId}`
  yield* terms.period === undefined
    ? enterTrial(sql, accountId, terms.quota)
    : enterPeriod(sql, accountId, terms.period)
})
