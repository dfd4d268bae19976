import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { CurrentRequester } from "../../../domain/requests/CurrentRequester.ts"
import { Audit, type AuditEntry, type AuditQuery, type AuditRecord } from "../../../services/operations/Audit.ts"
import { inActivity } from "../Requester.ts"
import { columnsOf, rowsOf } from "../Rows.ts"
import { read } from "../Transaction.ts"

const AuditRow = Schema.Struct({
  id: Schema.BigInt,
  created_at: Schema.Date,
  operator: Schema.String,
  command: Schema.String,
  subject: Schema.NullOr(Schema.String),
  arguments: Schema.Record(Schema.String, Schema.Union([Schema.String, Schema.Number, Schema.Boolean, Schema.Null]))
})

const columns = columnsOf(AuditRow)
const auditRows = rowsOf(AuditRow)

const insert = (sql: SqlClient.SqlClient, record: AuditRecord) => sql`
  insert into audit_entries (operator, command, subject, arguments)
  values (${record.operator}, ${record.command}, ${record.subject ?? null}, ${JSON.stringify(record.arguments)}::jsonb)`

const recorded =
  (sql: SqlClient.SqlClient): Audit["Service"]["recorded"] =>
  (change, recordOf) =>
    inActivity(sql)(Effect.tap(change, (result) => insert(sql, recordOf(result)))).pipe(
      Effect.provideService(CurrentRequester, { actor: "operator" })
    )

const list =
  (sql: SqlClient.SqlClient) =>
  ({ before, command, from, limit, operator, subject, to }: AuditQuery) => {
    const conditions = [
      ...(operator === undefined ? [] : [sql`operator = ${operator}`]),
      ...(command === undefined ? [] : [sql`command = ${command}`]),
      ...(subject === undefined ? [] : [sql`subject = ${subject}`]),
      ...(from === undefined ? [] : [sql`created_at >= ${new Date(from)}`]),
      ...(to === undefined ? [] : [sql`created_at < ${new Date(to)}`]),
      ...(before === undefined ? [] : [sql`id < ${before}::bigint`])
    ]
    const statement = auditRows(sql`
      select ${sql.literal(columns)} from audit_entries where ${sql.and(conditions)} order by id desc limit ${limit}`)
    return read(statement, (rows) => rows.map(toEntry))
  }

/** A trigger keeps the table append-only. */
export const layer: Layer.Layer<Audit, never, SqlClient.SqlClient> = Layer.effect(
  Audit,
  Effect.map(SqlClient.SqlClient, (sql) =>
    Audit.of({
      recorded: recorded(sql),
      append: (record) => Effect.orDie(Effect.asVoid(insert(sql, record))),
      list: list(sql)
    })
  )
)

const toEntry = ({ created_at, id, subject, ...row }: typeof AuditRow.Type): AuditEntry => ({
  ...row,
  id: Number(id),
  at: created_at.getTime(),
  subject: subject ?? undefined
})
