import { createHash } from "node:crypto"
import { createGunzip, createGzip } from "node:zlib"
import * as NodeStream from "@effect/platform-node/NodeStream"
import { Effect, Layer, Queue, Schema, Stream } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import { rootCauseMessage } from "../../../domain/rootCause.ts"
import { version } from "../../../domain/version.ts"
import { BackupFailed, type BackupReport, Backups } from "../../../services/operations/Backups.ts"
import * as VerificationRuns from "../credits/VerificationRuns.ts"
import * as Migrations from "../Migrations.ts"
import { rowsOf } from "../Rows.ts"
import { unlimited } from "../store/StatementLimit.ts"
import { dieOnSqlError } from "../Transaction.ts"
import * as BackupTables from "./BackupTables.ts"

// A backup is gzipped text. The first line describes it, each table has a line before and after its rows, and the last
// line has the digest of all previous lines. A row is a JSON array of its columns' texts.

/** A single document may have 200 KB. */
const batchRows = 500

const maxBatchCharacters = 4_000_000

const bufferedPieces = 2

const Begin = Schema.Struct({
  quarry_backup: Schema.Literal(1),
  version: Schema.String,
  taken_at: Schema.String,
  migrations: Schema.Array(Schema.String),
  log_months: Schema.Array(Schema.String)
})
const TableLine = Schema.Struct({ table: Schema.String, columns: Schema.Array(Schema.String) })
const TableEnd = Schema.Struct({ end: Schema.String, rows: Schema.Number, digest: Schema.String })
const Sequences = Schema.Struct({ sequences: Schema.Record(Schema.String, Schema.Array(Schema.String)) })
const End = Schema.Struct({ sha256: Schema.String })
const decodeLine = Schema.decodeUnknownEffect(
  Schema.fromJsonString(Schema.Union([Begin, TableLine, TableEnd, Sequences, End]))
)

const lineRows = rowsOf(Schema.Struct({ line: Schema.String }))
const nameRows = rowsOf(Schema.Struct({ name: Schema.String }))
const momentRows = rowsOf(Schema.Struct({ moment: Schema.String }))
const sequenceValueRows = rowsOf(Schema.Struct({ last_value: Schema.String, is_called: Schema.String }))

const fail = (message: string) => Effect.fail(new BackupFailed({ message }))

const logMonths = (sql: SqlClient.SqlClient) =>
  nameRows(sql`
    select c.relname::text as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'queries'::regclass and c.relname ~ '^queries_[0-9]{4}_[0-9]{2}$' order by 1`)

/** Includes the sequence of the log's ordinals, which no column owns. */
const sequencesOf = (sql: SqlClient.SqlClient) =>
  nameRows(sql`
    select relname::text as name from pg_class
    where relkind = 'S' and relnamespace = current_schema()::regnamespace order by 1`)

type Write = (text: string) => Effect.Effect<void>

const writeTable = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, table: BackupTables.Table, write: Write) {
  const counter = BackupTables.counter()
  yield* write(`${JSON.stringify({ table: table.name, columns: table.columns.map(({ name }) => name) })}\n`)
  yield* sql`declare quarry_backup no scroll cursor for
    select ${BackupTables.lineOf(sql, table)} as line from ${sql(table.name)}`
  while (true) {
    const rows = yield* lineRows(sql.unsafe(`fetch forward ${batchRows} from quarry_backup`))
    for (const { line } of rows) counter.add(line)
    if (rows.length > 0) yield* write(rows.map(({ line }) => `${line}\n`).join(""))
    if (rows.length < batchRows) break
  }
  yield* sql`close quarry_backup`
  const contents = counter.contents()
  yield* write(`${JSON.stringify({ end: table.name, ...contents })}\n`)
  return contents.rows
})

const writeAll = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, write: Write) {
  yield* Effect.mapError(Migrations.requireSchema({ takesNewer: false }), (error) =>
    error._tag === "StorageUnavailable" ? new BackupFailed({ message: error.message }) : error
  )
  const { applied } = yield* Migrations.state
  const [now] = yield* momentRows(sql`select to_char(now() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as moment`)
  const takenAt = now?.moment ?? ""
  const months = (yield* logMonths(sql)).map(({ name }) => name)
  const begin = { quarry_backup: 1, version, taken_at: takenAt, migrations: applied, log_months: months }
  yield* write(`${JSON.stringify(begin)}\n`)
  const tables = yield* BackupTables.tablesOf(sql)
  let rows = 0
  for (const table of tables) rows += yield* writeTable(sql, table, write)
  const sequences: Record<string, ReadonlyArray<string>> = {}
  for (const { name } of yield* sequencesOf(sql)) {
    const [value] = yield* sequenceValueRows(
      sql`select last_value::text as last_value, is_called::text as is_called from ${sql(name)}`
    )
    if (value !== undefined) sequences[name] = [value.last_value, value.is_called]
  }
  yield* write(`${JSON.stringify({ sequences })}\n`)
  return { takenAt, tables: tables.length, rows }
})

const take =
  (sql: SqlClient.SqlClient): Backups["Service"]["take"] =>
  (onEnd) =>
    Stream.callback<string, BackupFailed>(
      (queue) =>
        Effect.gen(function* () {
          const digest = createHash("sha256")
          const write = (text: string) => {
            digest.update(text)
            return Effect.asVoid(Queue.offer(queue, text))
          }
          const report = yield* unlimited(
            sql,
            Effect.andThen(
              sql`set transaction isolation level repeatable read, read only`,
              Effect.andThen(BackupTables.exactTexts(sql), writeAll(sql, write))
            )
          ).pipe(Effect.provideService(SqlClient.SqlClient, sql), dieOnSqlError)
          yield* Queue.offer(queue, `${JSON.stringify({ sha256: digest.digest("hex") })}\n`)
          yield* onEnd(report)
          yield* Queue.end(queue)
        }),
      { bufferSize: bufferedPieces, strategy: "suspend" }
    ).pipe(
      Stream.encodeText,
      NodeStream.pipeThroughDuplex({ evaluate: () => createGzip(), onError: (error) => broken(error) })
    )

const broken = (error: unknown): BackupFailed =>
  new BackupFailed({ message: `The backup cannot be read: ${rootCauseMessage(error)}. It is damaged or not a backup.` })

interface Reader<E, R> {
  readonly begin: (line: typeof Begin.Type) => Effect.Effect<void, E, R>
  readonly rows: (table: typeof TableLine.Type, lines: ReadonlyArray<string>) => Effect.Effect<void, E, R>
  readonly sequences: (line: typeof Sequences.Type) => Effect.Effect<void, E, R>
  readonly tableEnd: (line: typeof TableEnd.Type) => Effect.Effect<void, E, R>
}

const read = Effect.fnUntraced(function* <E, R, E2, R2>(
  bytes: Stream.Stream<Uint8Array, E, R>,
  reader: Reader<E2, R2>
) {
  const digest = createHash("sha256")
  let begin: typeof Begin.Type | undefined
  let table: typeof TableLine.Type | undefined
  let counter = BackupTables.counter()
  let waiting: Array<string> = []
  let characters = 0
  let isWhole = false
  const report = { tables: 0, rows: 0 }
  const flush = Effect.suspend(() => {
    const lines = waiting
    waiting = []
    characters = 0
    return table === undefined || lines.length === 0 ? Effect.void : reader.rows(table, lines)
  })
  const readOther = Effect.fnUntraced(function* (line: string) {
    const value = yield* Effect.mapError(decodeLine(line), () => broken(new Error("a line has no meaning")))
    if ("sha256" in value) {
      isWhole = begin !== undefined && value.sha256 === digest.digest("hex")
      return isWhole ? undefined : yield* fail("The backup is damaged: its checksum does not match its contents.")
    }
    digest.update(`${line}\n`)
    if ("quarry_backup" in value) {
      if (begin !== undefined) return yield* broken(new Error("it begins twice"))
      begin = value
      return yield* reader.begin(value)
    }
    if (begin === undefined) return yield* broken(new Error("it has no beginning"))
    if ("table" in value) {
      table = value
      counter = BackupTables.counter()
      return
    }
    if ("sequences" in value) return yield* reader.sequences(value)
    yield* flush
    const { digest: sum, rows } = counter.contents()
    if (table?.table !== value.end || rows !== value.rows || sum !== value.digest) {
      return yield* fail(`The backup is damaged: table ${value.end} does not have the rows that were written.`)
    }
    table = undefined
    report.tables++
    report.rows += rows
    return yield* reader.tableEnd(value)
  })
  const readLine = (line: string): Effect.Effect<void, BackupFailed | E2, R2> => {
    if (isWhole) return fail("The backup is damaged: there is data after its end.")
    if (!line.startsWith("[")) return readOther(line)
    digest.update(`${line}\n`)
    counter.add(line)
    characters += line.length
    return waiting.push(line) >= batchRows || characters >= maxBatchCharacters ? flush : Effect.void
  }
  yield* bytes.pipe(
    NodeStream.pipeThroughDuplex({ evaluate: () => createGunzip(), onError: broken }),
    Stream.decodeText(),
    Stream.splitLines,
    Stream.runForEach(readLine)
  )
  if (!isWhole || begin === undefined) {
    return yield* fail("The backup is incomplete: it was cut off while it was written or copied.")
  }
  return { takenAt: begin.taken_at, ...report } satisfies BackupReport
})

const check: Backups["Service"]["check"] = (bytes) =>
  read(bytes, {
    begin: () => Effect.void,
    rows: () => Effect.void,
    sequences: () => Effect.void,
    tableEnd: () => Effect.void
  })

const insertRows = (sql: SqlClient.SqlClient, table: BackupTables.Table, lines: ReadonlyArray<string>) => {
  const names = sql.csv(table.columns.map(({ name }) => sql`${sql(name)}`))
  // Types come from the database's own catalog, never from the file.
  const values = sql.csv(
    table.columns.map(({ type }, index) => sql`(r->>${sql.literal(`${index}`)})::${sql.literal(type)}`)
  )
  return sql`insert into ${sql(table.name)} (${names}) overriding system value
    select ${values} from (select line::jsonb as r from unnest(${lines}::text[]) as line) lines`
}

const usedRows = rowsOf(Schema.Struct({ relations: Schema.Boolean, quarry: Schema.Boolean }))
const dataRows = rowsOf(Schema.Struct({ data: Schema.Boolean }))

/** Fails if the store holds data, unless `overwrite` is true. */
const empty = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, overwrite: boolean) {
  const [used] = yield* usedRows(sql`
    select exists (select from pg_class where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p')) as relations,
      to_regclass('quarry_migrations') is not null and to_regclass('accounts') is not null as quarry`)
  if (used?.relations !== true) return
  if (!used.quarry) return yield* fail("The database has tables that are not Quarry's. Restore into an empty database.")
  const [held] = yield* dataRows(sql`
    select exists (select from accounts) or exists (select from ledger_entries) or exists (select from queries)
      or exists (select from indexed_documents) as data`)
  if (held?.data === true && !overwrite) {
    return yield* fail("The store holds data. Restore into an empty one, or replace all of its data with --overwrite.")
  }
  yield* sql`do $$
    declare existing record;
    begin
      for existing in select oid::regclass as name from pg_class
        where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p') and not relispartition
      loop execute format('drop table %s cascade', existing.name); end loop;
      for existing in select oid::regclass as name from pg_class
        where relnamespace = current_schema()::regnamespace and relkind = 'S'
      loop execute format('drop sequence %s cascade', existing.name); end loop;
      for existing in select p.oid::regprocedure as name from pg_proc p
        where p.pronamespace = current_schema()::regnamespace
          and not exists (select from pg_depend where objid = p.oid and deptype = 'e')
      loop execute format('drop routine %s cascade', existing.name); end loop;
    end $$`
})

/** Deletes rows that migrations wrote, because the backup contains them too. */
const prepare = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, begin: typeof Begin.Type) {
  if (!(yield* Migrations.runOnly(begin.migrations))) {
    return yield* fail(
      `The backup was made by version ${begin.version}, which is newer, or a development version before 0.1.0. Restore ` +
        "it with that version."
    )
  }
  for (const name of begin.log_months) {
    const [, year, month] = /^queries_(\d{4})_(\d{2})$/.exec(name) ?? []
    if (year !== undefined)
      yield* sql`select queries_make_partitions(${`${year}-${month}-01T00:00:00Z`}::timestamptz, 1)`
  }
  const tables = yield* BackupTables.tablesOf(sql)
  for (const { name } of tables.toReversed()) {
    // Triggers would create events for restored rows, and prevent emptying the books.
    yield* sql`alter table ${sql(name)} disable trigger user`
    yield* sql`delete from ${sql(name)}`
  }
  return new Map(tables.map((table) => [table.name, table]))
})

const setSequences = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  values: (typeof Sequences.Type)["sequences"]
) {
  for (const { name } of yield* sequencesOf(sql)) {
    const [value, isCalled] = values[name] ?? []
    if (value !== undefined) {
      yield* sql`select setval(${name}::regclass, ${value}::text::bigint, ${isCalled ?? "true"}::text::boolean)`
    }
  }
})

const restoreAll = Effect.fnUntraced(function* <E, R>(
  sql: SqlClient.SqlClient,
  bytes: Stream.Stream<Uint8Array, E, R>,
  overwrite: boolean
) {
  let tables: ReadonlyMap<string, BackupTables.Table> = new Map()
  const tableOf = (name: string, columns?: ReadonlyArray<string>) => {
    const table = tables.get(name)
    const chosen = columns?.map((column) => table?.columns.find(({ name }) => name === column))
    if (table === undefined || chosen?.includes(undefined) === true) {
      return fail(`The backup is damaged: table ${name} does not belong to its version.`)
    }
    return Effect.succeed({ name, columns: chosen?.flatMap((found) => found ?? []) ?? table.columns })
  }
  let current: BackupTables.Table | undefined
  const report = yield* read(bytes, {
    begin: (line) =>
      Effect.gen(function* () {
        yield* empty(sql, overwrite)
        tables = yield* prepare(sql, line)
      }),
    rows: ({ columns, table }, lines) =>
      Effect.gen(function* () {
        current = yield* tableOf(table, columns)
        yield* insertRows(sql, current, lines)
      }),
    tableEnd: ({ digest, end, rows }) =>
      Effect.gen(function* () {
        const found = yield* BackupTables.contentsOf(sql, current?.name === end ? current : yield* tableOf(end))
        if (found.rows !== rows || found.digest !== digest) {
          return yield* fail(`Table ${end} was not restored correctly. Nothing was changed.`)
        }
      }),
    sequences: ({ sequences }) => setSequences(sql, sequences)
  })
  for (const { name } of tables.values()) yield* sql`alter table ${sql(name)} enable trigger user`
  yield* Migrations.run
  const { discrepancies } = yield* VerificationRuns.verify(sql, { isFull: true })
  if (discrepancies.length > 0) {
    return yield* fail(
      `The ledger of the backup is inconsistent (discrepancies: ${discrepancies.length}). Nothing was changed.`
    )
  }
  return report
})

/** The database reports invalid values in the file, such as text in place of a number. */
const explainSql = (error: unknown) =>
  SqlError.isSqlError(error) && error.reason._tag === "UnknownError"
    ? fail(`The backup cannot be restored: ${rootCauseMessage(error)}. Nothing was changed.`)
    : Effect.die(error)

const restore =
  (sql: SqlClient.SqlClient): Backups["Service"]["restore"] =>
  (bytes, { overwrite }) =>
    unlimited(sql, Effect.andThen(BackupTables.exactTexts(sql), restoreAll(sql, bytes, overwrite))).pipe(
      Effect.provideService(SqlClient.SqlClient, sql),
      Effect.catchTag("SqlError", explainSql),
      Effect.catchTag("MigrationError", explainSql)
    )

export const layer: Layer.Layer<Backups, never, SqlClient.SqlClient> = Layer.effect(
  Backups,
  Effect.map(SqlClient.SqlClient, (sql) => Backups.of({ take: take(sql), check, restore: restore(sql) }))
)
