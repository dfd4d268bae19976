import { Effect, Metric, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { type SlotLimits, shareSlots } from "../../../domain/webhooks/DeliverySlots.ts"
import type { Keyring } from "../../../services/operations/Keyrings.ts"
import { storeTime } from "../../../services/StoreClock.ts"
import { eventAccountsCapped } from "../../../services/telemetry/Metrics.ts"
import type { droppedError, Receiver, TakenDelivery } from "../../../services/webhooks/EventBooks.ts"
import * as SealedSecret from "../operations/SealedSecret.ts"
import { rowsOf } from "../Rows.ts"
import { dropPending } from "./EventDrops.ts"
import type { Deps } from "./EventEndpoints.ts"
import { eventFields, toEvent } from "./EventRows.ts"

const maxQueues = 500

/** A replica that stops during a turn would otherwise block its accounts forever. */
const maxIdleMs = 5_000

/** `queue` is the endpoint's id, or empty for the account's emails. */
const QueueRow = Schema.Struct({ account_id: Schema.String, queue: Schema.String, due_at: Schema.Date })
type Queue = typeof QueueRow.Type
const queueRows = rowsOf(QueueRow)

type Place = Pick<Queue, "account_id" | "queue">

const start: Place = { account_id: "", queue: "" }

/** One lookup per queue in `event_deliveries_queue`, whereas `distinct` would read every pending delivery. */
const queuesAfter = (sql: SqlClient.SqlClient, after: Place, most: number) => sql`
  with recursive queues as (
    select ${after.account_id}::text as account_id, ${after.queue}::text as queue, null::timestamptz as due_at,
      null::timestamptz as created_at, 0 as n
    union all
    select next.*, q.n + 1 from queues q cross join lateral (
      select d.account_id, coalesce(d.endpoint_id, ''), d.due_at, d.created_at from event_deliveries d
      where d.status = 'pending' and (d.account_id, coalesce(d.endpoint_id, '')) > (q.account_id, q.queue)
      order by d.account_id, coalesce(d.endpoint_id, ''), d.due_at limit 1
    ) next
    where q.n < ${most}::integer
  )`

/** Time since which a queue has been waiting without an attempt in flight, or null. */
export const longestWaiting = (sql: SqlClient.SqlClient, now: Date) => sql`
  ${queuesAfter(sql, start, 2_147_483_647)}
  select min(greatest(q.due_at, q.created_at)) from queues q
  join accounts a on a.id = q.account_id left join webhook_endpoints e on e.id = q.queue
  where q.due_at <= ${now} and a.suspended_at is null
    and (q.queue = '' or (a.webhooks_paused_at is null and e.paused_at is null and e.failing_since is null))
    and not exists (
      select from event_deliveries d where d.status = 'pending' and d.is_taken and d.due_at > ${now}
        and d.account_id = q.account_id and coalesce(d.endpoint_id, '') = q.queue
    )`

const queuesFrom = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, place: Place) {
  const read = (after: Place, most: number) =>
    queueRows(sql`
      ${queuesAfter(sql, after, most)} select account_id, queue, due_at from queues where n > 0 order by n`)
  const later = yield* read(place, maxQueues)
  if (place === start || later.length === maxQueues) return later
  const seen = new Set(later.map(({ queue, account_id: account }) => `${account} ${queue}`))
  const first = yield* read(start, maxQueues - later.length)
  return [...later, ...first.filter(({ queue, account_id: account }) => !seen.has(`${account} ${queue}`))]
})

const lockedRows = rowsOf(Schema.Struct({ account_id: Schema.String, limited: Schema.String }))

/** Until the transaction ends, no other replica serves these accounts, so limits apply across replicas. */
const lockAccounts = (sql: SqlClient.SqlClient, accountIds: ReadonlyArray<string>) =>
  Effect.map(
    lockedRows(sql`
      select account_id, set_config('idle_in_transaction_session_timeout', ${String(maxIdleMs)}, true) as limited
      from unnest(${accountIds}::text[]) as t (account_id)
      where pg_try_advisory_xact_lock(hashtext('event_deliveries'), hashtext(account_id))`),
    (rows) => new Set(rows.map(({ account_id: id }) => id))
  )

const DueRow = Schema.Struct({
  id: Schema.String,
  account_id: Schema.String,
  endpoint_id: Schema.NullOr(Schema.String),
  is_failing: Schema.Boolean,
  dropped_for: Schema.NullOr(Schema.Literals(["suspended", "address_changed"]))
})
const dueRows = rowsOf(DueRow)

const readDue = (sql: SqlClient.SqlClient, queues: ReadonlyArray<Queue>, perEndpoint: number, now: Date) =>
  dueRows(sql`
    select d.id, d.account_id, d.endpoint_id, e.failing_since is not null as is_failing,
      case when a.suspended_at is not null then 'suspended' when v.created_at < e.address_since then 'address_changed' end
        as dropped_for
    from unnest(${queues.map((turn) => turn.account_id)}::text[], ${queues.map((turn) => turn.queue)}::text[])
      with ordinality as q (account_id, queue, n)
    join accounts a on a.id = q.account_id
    left join webhook_endpoints e on e.id = q.queue
    cross join lateral (
      select d.* from event_deliveries d
      where d.status = 'pending' and d.account_id = q.account_id and coalesce(d.endpoint_id, '') = q.queue
        and d.due_at <= ${now}
      order by d.due_at, d.ordinal limit ${perEndpoint}
    ) d
    join events v on v.id = d.event_id
    where q.queue = '' or (a.webhooks_paused_at is null and e.paused_at is null)
    order by q.n, d.due_at, d.ordinal`)

const inFlightRows = rowsOf(Schema.Struct({ account_id: Schema.String, endpoint_id: Schema.NullOr(Schema.String) }))

const toRecipient = (row: Pick<typeof DueRow.Type, "account_id" | "endpoint_id">) => ({
  accountId: row.account_id,
  endpointId: row.endpoint_id ?? undefined
})

const readInFlight = (sql: SqlClient.SqlClient, now: Date) =>
  inFlightRows(sql`
    select account_id, endpoint_id from event_deliveries where status = 'pending' and is_taken and due_at > ${now}`)

const TakenRow = Schema.Struct({
  id: Schema.String,
  attempts: Schema.Int,
  ...eventFields,
  endpoint_id: Schema.NullOr(Schema.String),
  url: Schema.NullOr(Schema.String),
  is_failing: Schema.Boolean,
  secret: Schema.NullOr(Schema.Uint8Array),
  old_secret: Schema.NullOr(Schema.Uint8Array),
  secret_key: Schema.NullOr(Schema.String),
  email: Schema.NullOr(Schema.String),
  requester: Schema.NullOr(
    Schema.Struct({
      actor: Schema.optionalKey(Schema.String),
      address: Schema.optionalKey(Schema.String),
      browser: Schema.optionalKey(Schema.String)
    })
  )
})
const takenRows = rowsOf(TakenRow)

/** Filters by id only: with another condition, the planner would scan the index of all due deliveries. */
const lease = (sql: SqlClient.SqlClient, ids: ReadonlyArray<string>, now: Date, until: Date) =>
  takenRows(sql`
    with locked as materialized (
      select id, status, due_at from event_deliveries where id = any (${ids}::text[]) for update skip locked
    ), taken as (
      update event_deliveries d set due_at = ${until}, is_taken = true, attempts = attempts + 1 from locked l
      where d.id = l.id and l.status = 'pending' and l.due_at <= ${now}
      returning d.id, d.attempts, d.event_id, d.endpoint_id
    )
    select t.id, t.attempts, t.event_id, v.account_id, v.type, v.data, v.created_at as event_at, t.endpoint_id, e.url,
      e.failing_since is not null as is_failing, e.secret, case when e.old_secret_until > ${now} then e.old_secret end
        as old_secret, e.secret_key,
      case when not exists (
        select from members m join auth_users u on u.id = m.user_id
        where m.account_id = a.id and u.email = a.email and not u.email_verified
      ) then a.email end as email,
      v.requester || jsonb_strip_nulls(jsonb_build_object(
        'actor', (select u.email from auth_users u where u.id = v.requester ->> 'actor')
      )) as requester
    from taken t join events v on v.id = t.event_id join accounts a on a.id = v.account_id
    left join webhook_endpoints e on e.id = t.endpoint_id`)

const receiverOf = (keyring: Keyring, row: typeof TakenRow.Type): Receiver => {
  const { email, endpoint_id: id, is_failing: isFailing, old_secret, secret, secret_key: key, url } = row
  if (id === null || url === null || secret === null || key === null) {
    return { _tag: "email", address: email ?? undefined }
  }
  const secrets = [secret, ...(old_secret === null ? [] : [old_secret])]
    .map((bytes) => SealedSecret.open(keyring, id, { bytes, key }))
    .filter((opened) => opened !== undefined)
  return { _tag: "endpoint", id, url, secrets, isFailing }
}

interface Turn {
  readonly limits: SlotLimits
  readonly now: Date
  readonly until: Date
}

const shareAmong = Effect.fnUntraced(function* (
  { keyring, sql }: Deps,
  queues: ReadonlyArray<Queue>,
  { limits, now, until }: Turn
) {
  const locked = yield* lockAccounts(sql, [...new Set(queues.map(({ account_id: id }) => id))])
  const free = queues.filter(({ account_id: id }) => locked.has(id))
  const rows = yield* readDue(sql, free, limits.perEndpoint, now)
  const dropIds = (reason: keyof typeof droppedError) => {
    const ids = rows.filter(({ dropped_for: why }) => why === reason).map(({ id }) => id)
    return ids.length === 0 ? Effect.succeed(0) : dropPending(sql, reason, sql`id = any (${ids}::text[])`)
  }
  yield* dropIds("suspended")
  yield* dropIds("address_changed")
  const due = rows
    .filter((row) => row.dropped_for === null)
    .map((row) => ({ ...toRecipient(row), id: row.id, isFailing: row.is_failing }))
  const inFlight = (yield* readInFlight(sql, now)).map(toRecipient)
  const { capped, chosen } = shareSlots(due, inFlight, limits)
  const ids = chosen.map(({ id }) => id)
  const leased = ids.length === 0 ? [] : yield* lease(sql, ids, now, until)
  const taken = leased.map(
    (row): TakenDelivery => ({
      id: row.id,
      event: { ...toEvent(row), ...(row.requester && { requester: row.requester }) },
      attempts: row.attempts,
      receiver: receiverOf(keyring, row)
    })
  )
  return { capped, taken: taken.toSorted((a, b) => ids.indexOf(a.id) - ids.indexOf(b.id)) }
})

/** Each turn starts after the account served last, so that accounts alternate. */
export const make = (deps: Deps) => {
  const { clock, sql } = deps
  let place = start
  return Effect.fnUntraced(function* (limits: SlotLimits, leaseMs: number) {
    const time = yield* storeTime(clock)
    const now = new Date(time)
    const queues = yield* queuesFrom(sql, place)
    const due = queues.filter(({ due_at: dueAt }) => dueAt.getTime() <= time)
    const { capped, taken } =
      due.length === 0
        ? { capped: 0, taken: [] }
        : yield* sql.withTransaction(shareAmong(deps, due, { limits, now, until: new Date(time + leaseMs) }))
    yield* Metric.update(eventAccountsCapped.of(), capped)
    const served = new Set(taken.map(({ event }) => event.accountId))
    const lastServed = queues.findLast(({ account_id: id }) => served.has(id))
    const lastSeen = queues.length < maxQueues ? undefined : queues.at(-1)
    place = lastServed ?? lastSeen ?? (due.length === 0 ? start : place)
    return taken
  }, Effect.orDie)
}
