import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import type { InboxItem, SweepExtent } from "../../../services/billing/BillingBooks.ts"
import { type StoreClock, storeTime } from "../../../services/StoreClock.ts"
import { rowOf, rowsOf } from "../Rows.ts"
import { retryTransient } from "../Transient.ts"

const itemRows = rowsOf(
  Schema.Struct({
    delivery_id: Schema.String,
    kind: Schema.String,
    object_kind: Schema.Literals(["subscription", "order", "customer", "checkout"]),
    object_id: Schema.String,
    attempts: Schema.Int
  })
)
const removalRows = rowsOf(
  Schema.Struct({ customer_id: Schema.String, account_id: Schema.String, attempts: Schema.Int })
)
const sweepRow = rowOf(Schema.Struct({ begun_at: Schema.NullOr(Schema.Date) }))
const figuresRow = rowOf(Schema.Struct({ oldest: Schema.NullOr(Schema.Date), owed: Schema.BigInt }))

const maxErrorCharacters = 200

const deliveries = (sql: SqlClient.SqlClient, clock: StoreClock["Service"]) => ({
  store: Effect.fn("BillingBooks.store")(function* ({ deliveryId, kind, object }: InboxItem) {
    const now = new Date(yield* storeTime(clock))
    const stored = yield* retryTransient(sql`
      insert into billing_inbox (delivery_id, kind, object_kind, object_id, received_at, due_at)
      values (${deliveryId}, ${kind}, ${object.kind}, ${object.id}, ${now}, ${now})
      on conflict do nothing returning delivery_id`)
    return stored.length > 0
  }, Effect.orDie),
  takeDeliveries: Effect.fnUntraced(function* (limit: number, leaseMs: number) {
    const now = yield* storeTime(clock)
    const rows = yield* itemRows(sql`
      update billing_inbox i set due_at = ${new Date(now + leaseMs)}, attempts = attempts + 1
      where delivery_id in (
        select delivery_id from billing_inbox where done_at is null and due_at <= ${new Date(now)}
        order by due_at limit ${limit} for update skip locked
      )
      returning delivery_id, kind, object_kind, object_id, attempts - 1 as attempts`)
    return rows.map((row) => ({
      deliveryId: row.delivery_id,
      kind: row.kind,
      object: { kind: row.object_kind, id: row.object_id },
      attempts: row.attempts
    }))
  }, Effect.orDie),
  finishDeliveries: Effect.fnUntraced(function* (deliveryIds: ReadonlyArray<string>) {
    const now = new Date(yield* storeTime(clock))
    yield* retryTransient(sql`
      update billing_inbox set done_at = ${now}, last_error = null
      where ${sql.in("delivery_id", deliveryIds)} and done_at is null`)
  }, Effect.orDie),
  postponeDeliveries: Effect.fnUntraced(function* (deliveryIds: ReadonlyArray<string>, reason: string, waitMs: number) {
    const due = new Date((yield* storeTime(clock)) + waitMs)
    yield* retryTransient(sql`
      update billing_inbox set due_at = ${due}, last_error = ${reason.slice(0, maxErrorCharacters)}
      where ${sql.in("delivery_id", deliveryIds)} and done_at is null`)
  }, Effect.orDie),
  pruneDeliveries: Effect.fnUntraced(function* (ageMs: number) {
    const before = new Date((yield* storeTime(clock)) - ageMs)
    const rows = yield* sql`delete from billing_inbox where done_at < ${before} returning delivery_id`
    return rows.length
  }, Effect.orDie)
})

const removals = (sql: SqlClient.SqlClient, clock: StoreClock["Service"]) => ({
  takeRemovals: Effect.fnUntraced(function* (limit: number, leaseMs: number) {
    const now = yield* storeTime(clock)
    const rows = yield* removalRows(sql`
      update billing_removals set due_at = ${new Date(now + leaseMs)}, attempts = attempts + 1
      where customer_id in (
        select customer_id from billing_removals where due_at <= ${new Date(now)}
        order by due_at limit ${limit} for update skip locked
      )
      returning customer_id, account_id, attempts - 1 as attempts`)
    return rows.map((row) => ({ customerId: row.customer_id, accountId: row.account_id, attempts: row.attempts }))
  }, Effect.orDie),
  finishRemoval: (customerId: string) =>
    Effect.orDie(Effect.asVoid(retryTransient(sql`delete from billing_removals where customer_id = ${customerId}`))),
  postponeRemoval: Effect.fnUntraced(function* (customerId: string, waitMs: number) {
    const due = new Date((yield* storeTime(clock)) + waitMs)
    yield* retryTransient(sql`update billing_removals set due_at = ${due} where customer_id = ${customerId}`)
  }, Effect.orDie),
  queueRemoval: Effect.fnUntraced(function* (customerId: string, accountId: string) {
    const now = new Date(yield* storeTime(clock))
    const rows = yield* retryTransient(sql`
      insert into billing_removals (customer_id, account_id, due_at) values (${customerId}, ${accountId}, ${now})
      on conflict do nothing returning customer_id`)
    return rows.length > 0
  }, Effect.orDie)
})

const turns = (sql: SqlClient.SqlClient, clock: StoreClock["Service"]) => ({
  takeTurn: Effect.fnUntraced(function* (accountId: string, everyMs: number) {
    const now = yield* storeTime(clock)
    const rows = yield* retryTransient(sql`
      insert into billing_accounts as b (account_id, asked_at)
      select id, ${new Date(now)} from accounts where id = ${accountId} and deleted_at is null
      on conflict (account_id) do update set asked_at = excluded.asked_at
        where b.asked_at is null or b.asked_at <= ${new Date(now - everyMs)}
      returning account_id`)
    return rows.length > 0
  }, Effect.orDie),
  takeSweep: Effect.fnUntraced(function* (extent: SweepExtent, everyMs: number, leaseMs: number) {
    const now = yield* storeTime(clock)
    const row = yield* sweepRow(sql`
      insert into billing_sweeps as s (extent, due_at, lease_until)
      values (${extent}, ${new Date(now + everyMs)}, ${new Date(now + leaseMs)})
      on conflict (extent) do update set due_at = excluded.due_at, lease_until = excluded.lease_until
        where s.due_at <= ${new Date(now)} and coalesce(s.lease_until <= ${new Date(now)}, true)
      returning begun_at`)
    return row === undefined ? undefined : { since: row.begun_at?.getTime() ?? 0, startedAt: now }
  }, Effect.orDie),
  finishSweep: Effect.fnUntraced(function* (extent: SweepExtent, startedAt: number, isDone: boolean) {
    const now = new Date(yield* storeTime(clock))
    yield* retryTransient(
      isDone
        ? sql`
            update billing_sweeps set begun_at = ${new Date(startedAt)}, lease_until = null where extent = ${extent}`
        : sql`update billing_sweeps set due_at = ${now}, lease_until = null where extent = ${extent}`
    )
  }, Effect.orDie),
  figures: Effect.gen(function* () {
    const now = yield* storeTime(clock)
    const row = yield* figuresRow(sql`
      select (select min(received_at) from billing_inbox where done_at is null) as oldest,
        (
          select coalesce(sum(w.owed), 0)::bigint from billing_accounts b join wallets w on w.account_id = b.account_id
        ) as owed`)
    const oldest = row?.oldest?.getTime() ?? now
    return { oldestDeliveryMs: Math.max(now - oldest, 0), owed: Number(row?.owed ?? 0) }
  }).pipe(Effect.orDie)
})

export const make = (sql: SqlClient.SqlClient, clock: StoreClock["Service"]) => ({
  ...deliveries(sql, clock),
  ...removals(sql, clock),
  ...turns(sql, clock)
})
