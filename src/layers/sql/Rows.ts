import { Context, Effect, Schema } from "effect"
import type { SqlError } from "effect/sql"

/**
 * True in tests: every row of every statement is compared with its schema, and one that differs is a defect. False in
 * production, where a newer replica may have written a value that this version does not know: one such row would fail
 * the whole page, and a batch's rows are read for every search.
 */
export const CheckRows = Context.Reference("quarry/layers/sql/CheckRows", { defaultValue: () => false })

/** Rows as the client returns them: int8 is a bigint, timestamptz a Date, bytea a Uint8Array. */
type RowSchema<Row> = Schema.Codec<Row, unknown>

type Statement<R> = Effect.Effect<ReadonlyArray<object>, SqlError.SqlError, R>

/**
 * Gives a statement's rows the type of their schema. Without it a wrong column or type would show in production only.
 */
export const rowsOf = <Row>(schema: RowSchema<Row>) => {
  const check = Schema.decodeUnknownEffect(Schema.Array(Schema.toType(schema)), { onExcessProperty: "error" })
  return <R>(statement: Statement<R>): Effect.Effect<ReadonlyArray<Row>, SqlError.SqlError, R> =>
    Effect.flatMap(CheckRows, (checked) =>
      checked
        ? Effect.flatMap(statement, (rows) => Effect.orDie(check(rows)))
        : // Tests run every statement on both databases with `CheckRows`, and so hold the rows to this type.
          (statement as Effect.Effect<ReadonlyArray<never>, SqlError.SqlError, R>)
    )
}

/** `rowsOf` for a statement that has one row or none. */
export const rowOf = <Row>(schema: RowSchema<Row>) => {
  const rows = rowsOf(schema)
  return <R>(statement: Statement<R>): Effect.Effect<Row | undefined, SqlError.SqlError, R> =>
    Effect.map(rows(statement), (all) => all[0])
}

/** A schema's columns as a select list, each of the table `alias` when there is one. */
export const columnsOf = (schema: { readonly fields: Schema.Struct.Fields }, alias?: string): string =>
  Object.keys(schema.fields)
    .map((name) => (alias === undefined ? name : `${alias}.${name}`))
    .join(", ")
