import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { normalizeEmail } from "../../../domain/accounts/emailAddress.ts"
import { operatorRoles } from "../../../domain/operations/OperatorRole.ts"
import { noSuchOperator, noSuchPerson, type Operator, Operators } from "../../../services/accounts/Operators.ts"
import { columnsOf, rowOf, rowsOf } from "../Rows.ts"
import { dieOnSqlError, read } from "../Transaction.ts"
import { hasSecondFactor } from "./secondFactor.ts"

const OperatorRow = Schema.Struct({
  user_id: Schema.String,
  role: Schema.Literals(operatorRoles),
  since: Schema.Date,
  added_by: Schema.String
})
const ListedRow = Schema.Struct({ ...OperatorRow.fields, email: Schema.String })

const columns = columnsOf(OperatorRow)
const operatorRow = rowOf(OperatorRow)
const listedRows = rowsOf(ListedRow)
const userRow = rowOf(
  Schema.Struct({ email: Schema.String, role: Schema.Literals(operatorRoles), has_second_factor: Schema.Boolean })
)

const toOperator = (row: typeof ListedRow.Type): Operator => ({
  personId: row.user_id,
  email: row.email,
  role: row.role,
  since: row.since.getTime(),
  by: row.added_by
})

const add = (sql: SqlClient.SqlClient): Operators["Service"]["add"] =>
  Effect.fn("Operators.add")(function* (address, role, by) {
    const email = normalizeEmail(address)
    const row = yield* operatorRow(sql`
      insert into operators (user_id, role, added_by) select id, ${role}, ${by} from auth_users where email = ${email}
      on conflict (user_id) do update set role = excluded.role returning ${sql.literal(columns)}`)
    return row === undefined ? yield* noSuchPerson(email) : toOperator({ ...row, email })
  }, dieOnSqlError)

const remove = (sql: SqlClient.SqlClient): Operators["Service"]["remove"] =>
  Effect.fn("Operators.remove")(function* (address) {
    const email = normalizeEmail(address)
    const row = yield* operatorRow(sql`
      delete from operators where user_id = (select id from auth_users where email = ${email})
      returning ${sql.literal(columns)}`)
    return row === undefined ? yield* noSuchOperator(email) : toOperator({ ...row, email })
  }, dieOnSqlError)

export const layer: Layer.Layer<Operators, never, SqlClient.SqlClient> = Layer.effect(
  Operators,
  Effect.map(SqlClient.SqlClient, (sql) =>
    Operators.of({
      add: add(sql),
      remove: remove(sql),
      list: read(
        listedRows(sql`
          select ${sql.literal(columnsOf(OperatorRow, "o"))}, u.email
          from operators o join auth_users u on u.id = o.user_id order by u.email`),
        (rows) => rows.map(toOperator)
      ),
      find: (personId) =>
        read(
          userRow(sql`
            select u.email, o.role, ${sql.literal(hasSecondFactor("u.id"))} as has_second_factor
            from operators o join auth_users u on u.id = o.user_id where o.user_id = ${personId}`),
          (row) =>
            row === undefined ? undefined : { email: row.email, role: row.role, hasSecondFactor: row.has_second_factor }
        )
    })
  )
)
