import { Context, Effect, Schema } from "effect"
import type { SqlError } from "effect/sql"

/** True in tests. In production, a newer replica may write unknown values, which must not fail a whole batch. */
export const CheckRows = Context.Reference("quarry/references/CheckRows", { defaultValue: () => false })

/** Rows as the client returns them: int8 is a bigint, timestamptz a Date, bytea a Uint8Array. */
type RowSchema<Row> = Schema.Codec<Row, unknown>

type Statement<R> = Effect.Effect<ReadonlyArray<object>, SqlError.SqlError, R>

export const rowsOf = <Row>(schema: RowSchema<Row>) => {
  const check = Schema.decodeUnknownEffect(Schema.Array(Schema.toType(schema)), { onExcessProperty: "error" })
  return <R>(statement: Statement<R>): Effect.Effect<ReadonlyArray<Row>, SqlError.SqlError, R> =>
    Effect.flatMap(CheckRows, (checked) =>
      checked
        ? Effect.flatMap(statement, (rows) => Effect.orDie(check(rows)))
        : // The cast is safe because tests run every statement on both databases with `CheckRows`.
          (statement as Effect.Effect<ReadonlyArray<never>, SqlError.SqlError, R>)
    )
}

export const rowOf = <Row>(schema: RowSchema<Row>) => {
  const rows = rowsOf(schema)
  return <R>(statement: Statement<R>): Effect.Effect<Row | undefined, SqlError.SqlError, R> =>
    Effect.map(rows(statement), (all) => all[0])
}

const Id = Schema.Struct({ id: Schema.String })
export const idRow = rowOf(Id)
export const idRows = rowsOf(Id)

const countRow = rowOf(Schema.Struct({ count: Schema.Int }))

/** The number that a statement returns as `count`. */
export const countOf = <R>(statement: Statement<R>): Effect.Effect<number, SqlError.SqlError, R> =>
  Effect.map(countRow(statement), (row) => row?.count ?? 0)

export const columnsOf = (schema: { readonly fields: Schema.Struct.Fields }, alias?: string): string =>
  Object.keys(schema.fields)
    .map((name) => (alias === undefined ? name : `${alias}.${name}`))
    .join(", ")
