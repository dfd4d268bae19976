import { readdirSync, readFileSync } from "node:fs"
import { gunzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import { SqlClient } from "effect/sql"
import * as Migrations from "../../../src/layers/sql/Migrations.ts"
import * as Pglite from "../../../src/layers/sql/store/Pglite.ts"
import { Ledger } from "../../../src/services/credits/Ledger.ts"
import { useAll } from "../../support/api/useAll.ts"
import * as EmbeddedDatabase from "../../support/stores/EmbeddedDatabase.ts"
import { describeWithPostgres, emptyLayer as emptyPostgres } from "../../support/stores/Postgres.ts"
import * as SqlStorage from "../../support/stores/SqlStorage.ts"

const folder = new URL("releases/", import.meta.url)
const releases = readdirSync(folder).flatMap((name) => /^(.*)\.sql\.gz$/.exec(name)?.[1] ?? [])

/** Restores a dump in one statement. Its settings are those of psql's session, which other statements must not get. */
const restore = Effect.fnUntraced(function* (release: string) {
  const sql = yield* SqlClient.SqlClient
  const dump = gunzipSync(readFileSync(new URL(`${release}.sql.gz`, folder))).toString()
  const statements = dump
    .replaceAll(/^(\\|SET |SELECT pg_catalog\.set_config).*$/gm, "")
    .replaceAll(/^SELECT pg_catalog\.setval/gm, "perform setval")
  yield* sql.withTransaction(
    Effect.andThen(sql`set local check_function_bodies = off`, sql.unsafe(`do $dump$ begin ${statements}\nend $dump$`))
  )
})

/** Everything in the schema except for the log's months, whose number is that of the months since the dump. */
const schema = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ readonly line: string }>`
    with relations as (
      select * from pg_class where relnamespace = 'public'::regnamespace and relname !~ '_[0-9]{4}_[0-9]{2}'
    )
    select concat_ws(' ', relkind, relname, reloptions) as line from relations where relkind <> 'i'
    union all
    select concat_ws(' ', 'column', relname, attname, format_type(atttypid, atttypmod), attnotnull, attidentity,
      attgenerated, attstorage, attcollation, pg_get_expr(adbin, adrelid))
    from relations join pg_attribute on attrelid = relations.oid and attnum > 0 and not attisdropped
      left join pg_attrdef on adrelid = relations.oid and adnum = attnum
    where relkind <> 'i'
    union all
    select pg_get_indexdef(oid) from relations where relkind in ('i', 'I')
    union all
    select concat_ws(' ', 'sequence', relname, seqtypid::regtype, seqstart, seqincrement, seqmax, seqcache)
    from relations join pg_sequence on seqrelid = relations.oid
    union all
    select concat_ws(' ', 'constraint', relname, conname, convalidated, pg_get_constraintdef(pg_constraint.oid))
    from relations join pg_constraint on conrelid = relations.oid where contype <> 'n'
    union all
    select concat_ws(' ', tgenabled, pg_get_triggerdef(pg_trigger.oid))
    from relations join pg_trigger on tgrelid = relations.oid where not tgisinternal
    union all
    select pg_get_functiondef(oid) from pg_proc where pronamespace = 'public'::regnamespace`
  return rows.map(({ line }) => line).sort()
})

const upgrades = <E, E2>(fresh: Layer.Layer<SqlClient.SqlClient, E>, empty: Layer.Layer<SqlClient.SqlClient, E2>) => {
  for (const release of releases) {
    it.live(`a store of ${release} is upgraded to the schema of a new store, and its books agree`, () =>
      Effect.gen(function* () {
        const made = yield* Effect.andThen(Migrations.run, schema).pipe(Effect.provide(fresh, { local: true }))
        yield* Effect.gen(function* () {
          yield* restore(release)
          yield* Migrations.run
          assert.deepStrictEqual(yield* schema, made)
          yield* Effect.gen(function* () {
            assert.deepStrictEqual(yield* (yield* Ledger).verifyFully, [])
            yield* useAll
          }).pipe(Effect.provide(SqlStorage.replica()))
        }).pipe(Effect.provide(empty, { local: true }))
      })
    )
  }
}

describe("Releases on PGlite", () => upgrades(EmbeddedDatabase.layer, Pglite.layer({ dataDir: undefined })))
describeWithPostgres("Releases on Postgres", () => upgrades(emptyPostgres, emptyPostgres))
