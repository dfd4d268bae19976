import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { maxFailingMs } from "../../../domain/webhooks/Event.ts"
import type { Keyring } from "../../../services/operations/Keyrings.ts"
import { StoreClock, storeTime } from "../../../services/StoreClock.ts"
import { type Attempt, type AttemptEnd, EventBooks, type TakenDelivery } from "../../../services/webhooks/EventBooks.ts"
import * as SealedSecret from "../operations/SealedSecret.ts"
import { idRow, idRows, rowOf, rowsOf } from "../Rows.ts"
import { retryTransient } from "../Transient.ts"
import { collectDropped } from "./EventDrops.ts"
import * as EventEndpoints from "./EventEndpoints.ts"
import * as EventQueues from "./EventQueues.ts"
import * as EventTurns from "./EventTurns.ts"

type Deps = EventEndpoints.Deps

const maxErrorCharacters = 200

const endedRow = rowOf(Schema.Struct({ endpoint_id: Schema.NullOr(Schema.String) }))

/** Does nothing if the lease has expired and another attempt has started. */
const writeAttempt = Effect.fnUntraced(function* (
  { sql }: Deps,
  { attempts, id }: TakenDelivery,
  { durationMs, failure, httpStatus }: Attempt,
  now: number
) {
  const mayFollow = failure !== undefined && failure.waitMs !== undefined && !failure.isGone
  const status = failure === undefined ? "delivered" : mayFollow ? "pending" : "failed"
  return yield* endedRow(sql`
    update event_deliveries set status = ${status}, is_taken = false,
      due_at = ${new Date(now + (mayFollow ? (failure.waitMs ?? 0) : 0))}, attempted_at = ${new Date(now)},
      http_status = ${httpStatus ?? null}::integer, error = ${failure?.error.slice(0, maxErrorCharacters) ?? null}::text,
      duration_ms = ${Math.round(durationMs)}::integer
    where id = ${id} and attempts = ${attempts}::integer and status = 'pending' returning endpoint_id`)
})

const finish = (deps: Deps) => {
  const { clock, sql } = deps
  const end = Effect.fnUntraced(function* (taken: TakenDelivery, attempt: Attempt) {
    const { failure } = attempt
    const now = yield* storeTime(clock)
    const ended = yield* writeAttempt(deps, taken, attempt, now)
    if (ended === undefined) return "lost"
    const { endpoint_id: endpointId } = ended
    if (failure === undefined) {
      if (endpointId !== null) {
        yield* sql`
          update webhook_endpoints set failing_since = null where id = ${endpointId} and failing_since is not null`
      }
      return "delivered"
    }
    const disabled = yield* idRow(sql`
      with failed as (
        update webhook_endpoints set failing_since = coalesce(failing_since, ${new Date(now)})
        where id = ${endpointId}::text and disabled_at is null returning id, failing_since
      )
      select id from failed where ${failure.isGone}::boolean or failing_since <= ${new Date(now - maxFailingMs)}`)
    if (disabled === undefined) return failure.waitMs === undefined || failure.isGone ? "given_up" : "postponed"
    yield* sql`
      update webhook_endpoints set disabled_at = ${new Date(now)}, disabled_for = ${failure.isGone ? "gone" : "failing"}
      where id = ${disabled.id}`
    yield* EventEndpoints.endPending(sql, disabled.id)
    return "disabled"
  })
  return (taken: TakenDelivery, attempt: Attempt): Effect.Effect<AttemptEnd> =>
    Effect.orDie(retryTransient(sql.withTransaction(end(taken, attempt))))
}

const overdueAccounts = ({ clock, sql }: Deps) =>
  Effect.fnUntraced(function* (limit: number) {
    const now = new Date(yield* storeTime(clock))
    // Starts from accounts with endpoints, because most accounts with an ended period have none.
    const rows = yield* idRows(sql`
      with listening as (
        select account_id as id from webhook_endpoints
        where disabled_at is null and (types = '{}' or types && '{quota.reset,plan.changed}')
        union select account_id from event_settings where 'quota.reset' = any (email_types)
        union select id from accounts where next_plan_at <= ${now}
      )
      select a.id from listening join accounts a on a.id = listening.id
      join allowances l on l.id = a.allowance_id
      where a.deleted_at is null and (l.period_end <= ${now} or a.next_plan_at <= ${now}) limit ${limit}`)
    return rows.map(({ id }) => id)
  }, Effect.orDie)

const maxExpiring = 1_000

const addExpiring = ({ clock, sql }: Deps) =>
  Effect.fnUntraced(function* (withinMs: number) {
    const now = yield* storeTime(clock)
    const horizon = new Date(now + withinMs)
    yield* retryTransient(sql`
      select events_of_expiring_keys(${new Date(now)}::timestamptz, ${horizon}::timestamptz, ${maxExpiring})`)
  }, Effect.orDie)

const SealedRow = Schema.Struct({
  id: Schema.String,
  secret: Schema.Uint8Array,
  old_secret: Schema.NullOr(Schema.Uint8Array),
  secret_key: Schema.String
})
const sealedRows = rowsOf(SealedRow)

/** Processes endpoints in id order, so that unreadable secrets do not block the others. */
const makeReseal = ({ keyring, sql }: Deps) => {
  const start = { after: "", unreadable: 0 }
  let pass = start
  const renew = Effect.fnUntraced(function* ({ id, old_secret, secret, secret_key: key }: typeof SealedRow.Type) {
    const opened = SealedSecret.open(keyring, id, { bytes: secret, key })
    if (opened === undefined) return false
    const old = old_secret === null ? undefined : SealedSecret.open(keyring, id, { bytes: old_secret, key })
    yield* sql`
      update webhook_endpoints set secret = ${SealedSecret.seal(keyring, id, opened).bytes},
        old_secret = ${old === undefined ? null : SealedSecret.seal(keyring, id, old).bytes}::bytea,
        secret_key = ${keyring.values()[0].fingerprint}
      where id = ${id} and secret = ${secret}`
    return true
  })
  return Effect.fnUntraced(function* (limit: number) {
    if (!keyring.isRotating()) return { renewed: 0, unreadable: undefined }
    const [, ...others] = keyring.values()
    const rows = yield* sealedRows(sql`
      select id, secret, old_secret, secret_key from webhook_endpoints
      where id > ${pass.after} and ${sql.in(
        "secret_key",
        others.map(({ fingerprint }) => fingerprint)
      )} order by id limit ${limit}`)
    const renewed = (yield* Effect.forEach(rows, renew)).filter((isRenewed) => isRenewed).length
    const unreadable = pass.unreadable + rows.length - renewed
    const isLast = rows.length < limit
    pass = isLast ? start : { after: rows.at(-1)?.id ?? "", unreadable }
    return { renewed, unreadable: isLast ? unreadable : undefined }
  }, Effect.orDie)
}

const figuresRow = rowOf(
  Schema.Struct({
    pending: Schema.Int,
    oldest: Schema.NullOr(Schema.Date),
    due: Schema.NullOr(Schema.Date)
  })
)

/** A delete statement holds its locks until it ends. */
const maxPruned = 5_000

const upkeep = ({ clock, sql }: Deps) => ({
  setEmails: (isOn: boolean) =>
    (isOn
      ? sql`insert into event_channels (name) values ('email') on conflict do nothing`
      : sql`delete from event_channels where name = 'email'`
    ).pipe(retryTransient, Effect.asVoid, Effect.orDie),
  prune: Effect.fnUntraced(function* (ageMs: number) {
    const before = new Date((yield* storeTime(clock)) - ageMs)
    const rows = yield* retryTransient(sql`
      with old as materialized (
        select id from events where created_at < ${before} order by created_at limit ${maxPruned}
      ), noted as (
        insert into event_drops (account_id, endpoint_id, reason, deliveries)
        select d.account_id, d.endpoint_id, 'expired', count(*) from event_deliveries d join old on old.id = d.event_id
        where d.status = 'pending' group by d.account_id, d.endpoint_id
      )
      delete from events where id in (select id from old) returning id`)
    return rows.length
  }, Effect.orDie),
  figures: Effect.gen(function* () {
    const now = yield* storeTime(clock)
    const row = yield* figuresRow(sql`
      select count(*)::int as pending, min(created_at) as oldest, (${EventTurns.longestWaiting(sql, new Date(now))}) as due
      from event_deliveries where status = 'pending'`)
    const since = (moment: Date | null | undefined) => Math.max(now - (moment?.getTime() ?? now), 0)
    return { pending: row?.pending ?? 0, oldestMs: since(row?.oldest), overdueMs: since(row?.due) }
  }).pipe(Effect.orDie)
})

export const layer = (options: {
  readonly keyring: Keyring
}): Layer.Layer<EventBooks, never, SqlClient.SqlClient | StoreClock> =>
  Layer.effect(
    EventBooks,
    Effect.gen(function* () {
      const deps: Deps = {
        sql: yield* SqlClient.SqlClient,
        clock: yield* StoreClock,
        keyring: options.keyring
      }
      return EventBooks.of({
        ...EventEndpoints.make(deps),
        ...EventQueues.make(deps),
        take: EventTurns.make(deps),
        finish: finish(deps),
        overdueAccounts: overdueAccounts(deps),
        addExpiring: addExpiring(deps),
        resealSecrets: makeReseal(deps),
        collectDropped: (limit) => Effect.orDie(collectDropped(deps.sql, limit)),
        ...upkeep(deps)
      })
    })
  )
