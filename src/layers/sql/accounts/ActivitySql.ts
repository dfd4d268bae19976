import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { ActivityQuery } from "../../../domain/accounts/ActivityQuery.ts"
import { normalizeEmail } from "../../../domain/accounts/emailAddress.ts"
import { defaultEntries } from "../../../domain/log/QueryHistory.ts"
import { type AccountEvent, Activity } from "../../../services/accounts/Activity.ts"
import { PositionRow, positionColumns, rangeConditions, readPage } from "../LogPages.ts"
import { inActivity } from "../Requester.ts"
import { rowsOf } from "../Rows.ts"

const EventRow = Schema.Struct({
  id: Schema.String,
  type: Schema.String,
  actor: Schema.NullOr(Schema.String),
  address: Schema.NullOr(Schema.String),
  browser: Schema.NullOr(Schema.String),
  changes: Schema.Record(Schema.String, Schema.Json),
  created_at: Schema.Date,
  ...PositionRow.fields
})
const eventRows = rowsOf(EventRow)

/** People are stored by ID, and shown by their present address. */
const columns = `id, type, coalesce((select email from auth_users where auth_users.id = actor), actor) as actor, address,
  browser, changes, created_at, ${positionColumns}`

const page = (sql: SqlClient.SqlClient) =>
  Effect.fn("Activity.page")(function* (accountId: string, query: ActivityQuery) {
    const { actor, cursor, from, limit = defaultEntries, to, type } = query
    const others = []
    if (type !== undefined) others.push(sql`(type = ${type} or starts_with(type, ${`${type}.`}))`)
    if (actor !== undefined) {
      others.push(
        sql`actor in (${actor}, (select auth_users.id from auth_users where auth_users.email = ${normalizeEmail(actor)}))`
      )
    }
    const { next, rows } = yield* readPage(sql, {
      columns: sql.literal(columns),
      indexed: sql`from account_events where ${sql.and(rangeConditions(sql, accountId, cursor, { from, to }))}
        order by created_at desc, ordinal desc`,
      others,
      limit,
      rowsOf: eventRows
    })
    return { entries: rows.map(toEvent), next }
  }, Effect.orDie)

export const layer: Layer.Layer<Activity, never, SqlClient.SqlClient> = Layer.effect(
  Activity,
  Effect.map(SqlClient.SqlClient, (sql) =>
    Activity.of({
      record: (accountId, type, changes) =>
        Effect.asVoid(
          inActivity(sql)(sql`select account_event_add(${accountId}, ${type}, ${JSON.stringify(changes)}::jsonb, null)`)
        ),
      page: page(sql)
    })
  )
)

const toEvent = ({ at_micros: _, created_at: at, ordinal: __, ...event }: typeof EventRow.Type): AccountEvent => ({
  ...event,
  at: at.getTime()
})
