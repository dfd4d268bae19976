import { Effect, type Redacted, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { isCarriable } from "../../../domain/text.ts"
import { defaultEventSettings, EventType } from "../../../domain/webhooks/Event.ts"
import type { Keyring } from "../../../services/operations/Keyrings.ts"
import { type StoreClock, storeTime } from "../../../services/StoreClock.ts"
import {
  addressChanged,
  type EndpointChange,
  type EventBooks,
  endpointDisabled,
  maxEndpoints,
  type NewEndpoint,
  noSuchDelivery,
  noSuchEndpoint,
  queueFull,
  type SettingsChange,
  stoppedError,
  tooManyEndpoints
} from "../../../services/webhooks/EventBooks.ts"
import * as SealedSecret from "../operations/SealedSecret.ts"
import { inActivity, withRequester } from "../Requester.ts"
import { countOf, idRow, rowOf, rowsOf } from "../Rows.ts"
import { dieOnSqlError, inTransaction, read } from "../Transaction.ts"
import { retryTransient } from "../Transient.ts"
import { dropPending } from "./EventDrops.ts"
import { DeliveryRow, deliveryColumns, EndpointRow, endpointColumns, toDelivery, toEndpoint } from "./EventRows.ts"

export interface Deps {
  readonly sql: SqlClient.SqlClient
  readonly clock: StoreClock["Service"]
  readonly keyring: Keyring
}

const endpointRow = rowOf(EndpointRow)
const endpointRows = rowsOf(EndpointRow)
const deliveryRow = rowOf(DeliveryRow)
const deliveryRows = rowsOf(DeliveryRow)
const settingsRow = rowOf(
  Schema.Struct({
    low_percents: Schema.NullOr(Schema.Array(Schema.Int)),
    email_types: Schema.NullOr(Schema.Array(EventType)),
    low_balance: Schema.NullOr(Schema.BigInt)
  })
)

const addEndpoint = (deps: Deps) => {
  const { clock, keyring, sql } = deps
  return Effect.fn("EventBooks.addEndpoint")(function* (accountId: string, { id, secret, types, url }: NewEndpoint) {
    // Concurrent creations must count each other's endpoints.
    yield* sql`select from accounts where id = ${accountId} for no key update`
    const count = yield* countOf(sql`
        select count(*)::int as count from webhook_endpoints where account_id = ${accountId}`)
    if (count >= maxEndpoints) return yield* tooManyEndpoints
    const sealed = SealedSecret.seal(keyring, id, secret)
    const row = yield* endpointRow(sql`
        insert into webhook_endpoints (id, account_id, url, types, secret, secret_key, created_at)
        values (${id}, ${accountId}, ${url}, ${types}::text[], ${sealed.bytes}, ${sealed.key},
          ${new Date(yield* storeTime(clock))})
        returning ${sql.literal(endpointColumns)}`)
    return row === undefined ? yield* Effect.die(new Error("an inserted endpoint was not returned")) : toEndpoint(row)
  }, inActivity(sql))
}

/** Pending deliveries fail, and can be resent manually. */
export const endPending = (sql: SqlClient.SqlClient, endpointId: string) => sql`
  update event_deliveries set status = 'failed', is_taken = false, error = ${stoppedError.disabled}
  where endpoint_id = ${endpointId} and status = 'pending'`

const addressRow = rowOf(Schema.Struct({ url: Schema.String, is_disabled: Schema.Boolean }))

const changeEndpoint = (deps: Deps) => {
  const { clock, sql } = deps
  return Effect.fn("EventBooks.changeEndpoint")(
    function* (accountId: string, id: string, { disabled, types, url }: EndpointChange) {
      if (!isCarriable(id)) return yield* noSuchEndpoint
      const now = new Date(yield* storeTime(clock))
      const before = yield* addressRow(sql`
        select url, disabled_at is not null as is_disabled from webhook_endpoints
        where id = ${id} and account_id = ${accountId} for no key update`)
      if (before === undefined) return yield* noSuchEndpoint
      const isMoved = url !== undefined && url !== before.url
      const isEnabled = disabled === false && before.is_disabled
      const row = yield* endpointRow(sql`
        update webhook_endpoints set url = coalesce(${url ?? null}::text, url),
          address_since = case when ${isMoved}::boolean then clock_timestamp() else address_since end,
          types = coalesce(${types ?? null}::text[], types),
          failing_since = case when ${isEnabled || (isMoved && disabled !== true)}::boolean then null
            else failing_since end,
          disabled_at = case ${disabled ?? null}::boolean when true then coalesce(disabled_at, ${now}) when false then null
            else disabled_at end,
          disabled_for = case ${disabled ?? null}::boolean when true then coalesce(disabled_for, 'account')
            when false then null else disabled_for end
        where id = ${id} and account_id = ${accountId} returning ${sql.literal(endpointColumns)}`)
      if (row === undefined) return yield* noSuchEndpoint
      if (row.disabled_at !== null) yield* endPending(sql, id)
      else if (isMoved) yield* dropPending(sql, "address_changed", sql`endpoint_id = ${id}`)
      return toEndpoint(row)
    },
    withRequester(sql),
    sql.withTransaction,
    // May deadlock with the recording of an attempt, which locks the delivery before the endpoint.
    retryTransient,
    dieOnSqlError
  )
}

const sealedRow = rowOf(Schema.Struct({ secret: Schema.Uint8Array, secret_key: Schema.String }))

const replaceSecret = ({ clock, keyring, sql }: Deps) =>
  Effect.fn("EventBooks.replaceSecret")(function* (
    accountId: string,
    id: string,
    secret: Redacted.Redacted,
    graceMs: number
  ) {
    if (!isCarriable(id)) return yield* noSuchEndpoint
    const until = new Date((yield* storeTime(clock)) + graceMs)
    const before = yield* sealedRow(sql`
        select secret, secret_key from webhook_endpoints where id = ${id} and account_id = ${accountId} for update`)
    if (before === undefined) return yield* noSuchEndpoint
    const sealed = SealedSecret.seal(keyring, id, secret)
    // Encrypts both with the same AUTH_SECRET. Drops an old secret that can no longer be decrypted.
    const old = SealedSecret.open(keyring, id, { bytes: before.secret, key: before.secret_key })
    const row = yield* endpointRow(sql`
        update webhook_endpoints set secret = ${sealed.bytes}, secret_key = ${sealed.key},
          old_secret = ${old === undefined ? null : SealedSecret.seal(keyring, id, old).bytes}::bytea,
          old_secret_until = ${until}
        where id = ${id} returning ${sql.literal(endpointColumns)}`)
    return row === undefined ? yield* noSuchEndpoint : toEndpoint(row)
  }, inActivity(sql))

/** The id comes from a URL path and may be any text. */
export const findEndpoint = Effect.fnUntraced(function* (
  { sql }: Deps,
  accountId: string,
  id: string,
  options: { readonly isKept: boolean } = { isKept: false }
) {
  const row = isCarriable(id)
    ? yield* endpointRow(sql`
        select ${sql.literal(endpointColumns)} from webhook_endpoints where id = ${id} and account_id = ${accountId}
        ${options.isKept ? sql`for key share` : sql``}`)
    : undefined
  return row === undefined ? yield* noSuchEndpoint : row
})

const insertDelivery = ({ sql }: Deps, eventId: string, endpointId: string) =>
  deliveryRow(sql`
    with added as (
      insert into event_deliveries (id, event_id, account_id, endpoint_id, status, due_at, created_at)
      select 'dlv_' || replace(gen_random_uuid()::text, '-', ''), id, account_id, ${endpointId}, 'pending',
        to_timestamp(0), clock_timestamp()
      from events where id = ${eventId} and not event_queue_is_full(account_id, ${endpointId})
      returning *
    )
    select ${sql.literal(deliveryColumns)} from added d join events e on e.id = d.event_id`).pipe(
    Effect.flatMap((row) => (row === undefined ? Effect.fail(queueFull) : Effect.succeed(toDelivery(row))))
  )

const addTest = (deps: Deps) => {
  const { sql } = deps
  return Effect.fn("EventBooks.addTest")(function* (accountId: string, id: string) {
    const endpoint = yield* findEndpoint(deps, accountId, id, { isKept: true })
    if (endpoint.disabled_at !== null) return yield* endpointDisabled
    const event = yield* idRow(sql`
        insert into events (id, account_id, type, cause, data, created_at)
        select 'evt_' || t.id, ${accountId}, 'webhook.test', 'webhook.test:' || t.id,
          jsonb_build_object('webhook_id', ${id}::text), clock_timestamp()
        from (select replace(gen_random_uuid()::text, '-', '') as id) as t returning id`)
    return yield* insertDelivery(deps, event?.id ?? "", id)
  }, inTransaction(sql))
}

const deliveries = (deps: Deps) => {
  const { sql } = deps
  return Effect.fn("EventBooks.deliveries")(function* (
    accountId: string,
    id: string,
    { after, limit }: { readonly after: string | undefined; readonly limit: number }
  ) {
    yield* findEndpoint(deps, accountId, id)
    const rows = yield* deliveryRows(sql`
        select ${sql.literal(deliveryColumns)} from event_deliveries d join events e on e.id = d.event_id
        where d.endpoint_id = ${id} and ${
          after === undefined
            ? sql`true`
            : sql`d.ordinal < (select ordinal from event_deliveries where id = ${after} and endpoint_id = ${id})`
        }
        order by d.ordinal desc limit ${limit + 1}`)
    const page = rows.slice(0, limit)
    return { deliveries: page.map(toDelivery), next: rows.length > limit ? page.at(-1)?.id : undefined }
  }, dieOnSqlError)
}

const sentRow = rowOf(Schema.Struct({ event_id: Schema.String, has_moved: Schema.Boolean }))

const redeliver = (deps: Deps) => {
  const { sql } = deps
  return Effect.fn("EventBooks.redeliver")(function* (accountId: string, id: string, deliveryId: string) {
    const endpoint = yield* findEndpoint(deps, accountId, id, { isKept: true })
    const row = isCarriable(deliveryId)
      ? yield* sentRow(sql`
            select d.event_id, coalesce(v.created_at < e.address_since, false) as has_moved
            from event_deliveries d join events v on v.id = d.event_id join webhook_endpoints e on e.id = d.endpoint_id
            where d.id = ${deliveryId} and d.endpoint_id = ${id}`)
      : undefined
    if (row === undefined) return yield* noSuchDelivery
    if (endpoint.disabled_at !== null) return yield* endpointDisabled
    if (row.has_moved) return yield* addressChanged
    return yield* insertDelivery(deps, row.event_id, id)
  }, inTransaction(sql))
}

const readSettings = Effect.fnUntraced(function* ({ sql }: Deps, accountId: string) {
  const row = yield* settingsRow(sql`
    select s.low_percents, s.email_types, w.low_balance
    from wallets w left join event_settings s on s.account_id = w.account_id where w.account_id = ${accountId}`)
  return {
    lowPercents: row?.low_percents ?? defaultEventSettings.lowPercents,
    lowBalance: row === undefined || row.low_balance === null ? undefined : Number(row.low_balance),
    emailTypes: row?.email_types ?? defaultEventSettings.emailTypes
  }
})

const changeSettings = (deps: Deps) => {
  const { sql } = deps
  return Effect.fn("EventBooks.changeSettings")(function* (accountId: string, change: SettingsChange) {
    yield* sql`select from wallets where account_id = ${accountId} for update`
    const before = yield* readSettings(deps, accountId)
    const emailTypes = change.emailTypes ?? before.emailTypes
    yield* sql`
        insert into event_settings (account_id, low_percents, email_types)
        select id, ${change.lowPercents ?? before.lowPercents}::integer[], ${emailTypes}::text[]
        from accounts where id = ${accountId} and deleted_at is null
        on conflict (account_id) do update set low_percents = excluded.low_percents, email_types = excluded.email_types`
    if (change.lowBalance !== undefined) {
      yield* sql`update wallets set low_balance = ${change.lowBalance}::bigint where account_id = ${accountId}`
    }
    if (change.lowPercents !== undefined) {
      yield* sql`
          update allowances set events_at = 0 where id = (select allowance_id from accounts where id = ${accountId})`
    }
    yield* sql`
        update event_deliveries d set status = 'failed', is_taken = false, error = ${stoppedError.emails}
        from events e
        where d.account_id = ${accountId} and d.endpoint_id is null and d.status = 'pending' and e.id = d.event_id
          and e.type <> all (${emailTypes}::text[])`
    return yield* readSettings(deps, accountId)
  }, inTransaction(sql))
}

export const make = (deps: Deps) => {
  const { sql } = deps
  return {
    endpoints: (accountId) =>
      read(
        endpointRows(sql`
          select ${sql.literal(endpointColumns)} from webhook_endpoints where account_id = ${accountId}
          order by created_at desc, id`),
        (rows) => rows.map(toEndpoint)
      ),
    addEndpoint: addEndpoint(deps),
    changeEndpoint: changeEndpoint(deps),
    removeEndpoint: (accountId, id) =>
      findEndpoint(deps, accountId, id).pipe(
        Effect.andThen(
          // May deadlock with the recording of an attempt, as in `changeEndpoint`.
          retryTransient(
            sql.withTransaction(
              withRequester(sql)(sql`delete from webhook_endpoints where id = ${id} and account_id = ${accountId}`)
            )
          )
        ),
        Effect.asVoid,
        dieOnSqlError
      ),
    replaceSecret: replaceSecret(deps),
    addTest: addTest(deps),
    deliveries: deliveries(deps),
    redeliver: redeliver(deps),
    settings: (accountId) => Effect.orDie(retryTransient(readSettings(deps, accountId))),
    changeSettings: changeSettings(deps)
  } satisfies Partial<EventBooks["Service"]>
}
