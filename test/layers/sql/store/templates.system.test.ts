import { statSync } from "node:fs"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { PGlite } from "@electric-sql/pglite"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import * as DocumentIndexSql from "../../../../src/layers/sql/index/DocumentIndexSql.ts"
import * as Migrations from "../../../../src/layers/sql/Migrations.ts"
import * as Pglite from "../../../../src/layers/sql/store/Pglite.ts"
import { isStarterCurrent, readTemplate, templateFile } from "../../../../src/layers/sql/store/templates.ts"
import { fill } from "../../../../src/process/store/starterIndex.ts"

/** The Postgres of PGlite, as its own documentation names it. */
const expectedMajor = async () => {
  const database = await PGlite.create()
  const { rows } = await database.query<{ readonly version: string }>(
    "select current_setting('server_version_num') as version"
  )
  await database.close()
  return Math.floor(Number(rows[0]?.version) / 10_000)
}

/** Everything that a first start would create, in comparable form. */
const contents = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return {
    columns: yield* sql`
      select table_name, column_name, ordinal_position, data_type, collation_name, column_default, is_nullable,
        is_identity, generation_expression
      from information_schema.columns where table_schema = 'public' order by 1, 3`,
    constraints: yield* sql`
      select conrelid::regclass::text, conname, pg_get_constraintdef(oid) from pg_constraint
      where connamespace = 'public'::regnamespace order by 1, 2`,
    indexes: yield* sql`select indexdef from pg_indexes where schemaname = 'public' order by 1`,
    functions: yield* sql`
      select pg_get_functiondef(oid) from pg_proc where pronamespace = 'public'::regnamespace order by 1`,
    triggers: yield* sql`select pg_get_triggerdef(oid) from pg_trigger where not tgisinternal order by 1`,
    options: yield* sql`
      select relname, reloptions from pg_class where relnamespace = 'public'::regnamespace order by 1`,
    documents: yield* sql`
      select count(*)::int, md5(string_agg(md5(documents::text), '' order by id)) from indexed_documents as documents`,
    segments: yield* sql`select * from document_segments order by id`,
    postings: yield* sql`
      select count(*)::int, md5(string_agg(md5(postings::text), '' order by term, segment))
      from document_postings as postings`
  }
})

const database = (template: "empty" | "starter") =>
  Layer.provideMerge(
    DocumentIndexSql.layer,
    Layer.provideMerge(Migrations.layer, Pglite.layer({ dataDir: undefined, template }))
  )

describe("the databases that a first start unpacks", () => {
  it.live("are of the Postgres that PGlite runs (if not: npm run templates), and small", () =>
    Effect.promise(async () => {
      const major = await expectedMajor()
      for (const [template, maxBytes] of [["empty", 2_000_000] as const, ["starter", 5_000_000] as const]) {
        const tar = Buffer.from(await (await readTemplate(template)).arrayBuffer())
        const at = tar.indexOf("PG_VERSION\0")
        assert.isAbove(at, -1)
        // A header of a tar file has 512 bytes, and the file's content follows.
        const version = tar.toString("latin1", at - (at % 512) + 512, at - (at % 512) + 514)
        assert.strictEqual(Number(version), major)
        assert.isBelow(statSync(templateFile(template)).size, maxBytes)
      }
    })
  )

  it.live("the starter template is what a fresh load creates (if not: npm run templates)", () =>
    Effect.gen(function* () {
      assert.isTrue(isStarterCurrent())
      const shipped = yield* Effect.provide(contents, database("starter"), { local: true })
      const fresh = yield* Effect.provide(Effect.andThen(fill, contents), database("empty"), { local: true })
      assert.isAbove(shipped.functions.length, 20)
      assert.deepStrictEqual(shipped, fresh)
    }).pipe(Effect.provide(NodeServices.layer))
  )
})
