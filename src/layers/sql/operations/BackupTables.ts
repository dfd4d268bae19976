import { createHash } from "node:crypto"
import { Effect, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { rowsOf } from "../Rows.ts"

export interface Table {
  readonly name: string
  readonly columns: ReadonlyArray<{ readonly name: string; readonly type: string }>
}

/** Tables that a backup omits: the migration history, which its first line has, and the state of running processes. */
const excluded = ["quarry_migrations", "replicas", "secret_holders", "document_loads"]

const tableRows = rowsOf(
  Schema.Struct({ name: Schema.String, columns: Schema.Array(Schema.String), types: Schema.Array(Schema.String) })
)

const referenceRows = rowsOf(Schema.Struct({ from: Schema.String, to: Schema.String }))

const inOrder = (
  tables: ReadonlyArray<Table>,
  references: ReadonlyArray<{ readonly from: string; readonly to: string }>
): ReadonlyArray<Table> => {
  const ordered = new Set<Table>()
  const add = (table: Table): void => {
    if (ordered.has(table)) return
    for (const { from, to } of references) {
      const other = from === table.name ? tables.find(({ name }) => name === to) : undefined
      if (other !== undefined && other !== table) add(other)
    }
    ordered.add(table)
  }
  for (const table of tables) add(table)
  return [...ordered]
}

export const tablesOf = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient
): Effect.fn.Return<ReadonlyArray<Table>, SqlError.SqlError> {
  const tables = yield* tableRows(sql`
    select c.relname::text as name,
      array_agg(a.attname::text order by a.attnum) as columns,
      array_agg(format_type(a.atttypid, a.atttypmod) order by a.attnum) as types
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
    where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
      and c.relname <> all (${excluded}::text[])
    group by c.relname order by c.relname`)
  const references = yield* referenceRows(sql`
    select f.relname::text as from, t.relname::text as to
    from pg_constraint k join pg_class f on f.oid = k.conrelid join pg_class t on t.oid = k.confrelid
    where k.contype = 'f' and k.conparentid = 0 and f.relnamespace = current_schema()::regnamespace`)
  return inOrder(
    tables.map(({ columns, name, types }) => ({
      name,
      columns: columns.map((column, index) => ({ name: column, type: types[index] ?? "" }))
    })),
    references
  )
})

/** With these settings, a value has the same text in every database. */
export const exactTexts = (sql: SqlClient.SqlClient) => sql`
  select set_config('timezone', 'UTC', true), set_config('datestyle', 'ISO, YMD', true),
    set_config('intervalstyle', 'postgres', true), set_config('extra_float_digits', '1', true),
    set_config('bytea_output', 'hex', true)`

export const lineOf = (sql: SqlClient.SqlClient, { columns }: Table) => {
  const texts = columns.map(({ name }) => sql`${sql(name)}::text`)
  return sql`array_to_json(array[${sql.csv(texts)}]::text[])::text`
}

/** The digest is the sum of the rows' digests, so it does not depend on their order. */
export interface Contents {
  readonly rows: number
  readonly digest: string
}

const contentsRows = rowsOf(Schema.Struct({ rows: Schema.Number, digest: Schema.String }))

export const contentsOf = (sql: SqlClient.SqlClient, table: Table) =>
  Effect.map(
    contentsRows(sql`
      select count(*)::float8 as rows, coalesce(sum(('x' || left(md5(line), 16))::bit(64)::bigint::numeric), 0)::text as digest
      from (select ${lineOf(sql, table)} as line from ${sql(table.name)}) lines`),
    ([row]) => row ?? { rows: 0, digest: "0" }
  )

export const counter = () => {
  let rows = 0
  let sum = 0n
  return {
    add: (line: string): void => {
      rows++
      sum += createHash("md5").update(line).digest().readBigInt64BE(0)
    },
    contents: (): Contents => ({ rows, digest: `${sum}` })
  }
}
