import { Effect, Schema } from "effect"
import type { SqlClient, SqlError, Statement } from "effect/sql"
import type { Position } from "../../domain/log/QueryHistory.ts"
import { rowOf } from "./Rows.ts"
import { retryTransient } from "./Transient.ts"

/* Pages of a log, newest first: tables with an index over account_id, created_at and ordinal. */

/** A rare filter must not hold a connection while it reads the whole log. */
const maxExamined = 25_000

export const PositionRow = Schema.Struct({ at_micros: Schema.BigInt, ordinal: Schema.BigInt })
export type PositionRow = typeof PositionRow.Type

export const positionRow = rowOf(PositionRow)

export const positionColumns = "(extract(epoch from created_at) * 1000000)::bigint as at_micros, ordinal"

export const toPosition = (row: PositionRow): Position => ({ atMicros: row.at_micros, ordinal: row.ordinal })

/** Conditions that the index serves. */
export const rangeConditions = (
  sql: SqlClient.SqlClient,
  accountId: string,
  after: Position | undefined,
  { from, to }: { readonly from: number | undefined; readonly to: number | undefined }
) => {
  const conditions = [sql`account_id = ${accountId}`]
  if (after !== undefined) {
    conditions.push(sql`(created_at, ordinal) < (
      timestamptz 'epoch' + ${after.atMicros}::bigint * interval '1 microsecond', ${after.ordinal}::bigint
    )`)
  }
  if (from !== undefined) conditions.push(sql`created_at >= ${new Date(from)}`)
  if (to !== undefined) conditions.push(sql`created_at < ${new Date(to)}`)
  return conditions
}

interface PageOf<Row> {
  /** Must include `positionColumns`. */
  readonly columns: Statement.Fragment
  /** From the log's table, in order, with the conditions that its indexes serve. */
  readonly indexed: Statement.Fragment
  readonly others: ReadonlyArray<Statement.Fragment>
  readonly limit: number
  readonly rowsOf: (statement: Statement.Statement<object>) => Effect.Effect<ReadonlyArray<Row>, SqlError.SqlError>
}

/** Without `next`, the page reached the end of the log. */
export const readPage = Effect.fnUntraced(function* <Row extends PositionRow>(
  sql: SqlClient.SqlClient,
  { columns, indexed, limit, others, rowsOf }: PageOf<Row>
) {
  const wanted = limit + 1
  const statement =
    others.length === 0
      ? sql`select ${columns} ${indexed} limit ${wanted}`
      : sql`
        select ${columns} from (select * ${indexed} limit ${maxExamined}) as examined
        where ${sql.and(others)} order by created_at desc, ordinal desc limit ${wanted}`
  const found = yield* retryTransient(rowsOf(statement))
  const rows = found.slice(0, limit)
  const last = rows.at(-1)
  if (found.length === wanted && last !== undefined) return { rows, next: toPosition(last) }
  if (others.length === 0) return { rows, next: undefined }
  const examined = yield* retryTransient(
    positionRow(sql`select ${sql.literal(positionColumns)} ${indexed} offset ${maxExamined - 1} limit 1`)
  )
  return { rows, next: examined === undefined ? undefined : toPosition(examined) }
})
