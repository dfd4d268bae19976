import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { brotliCompressSync, constants } from "node:zlib"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { PGlite } from "@electric-sql/pglite"
import { Effect, Layer } from "effect"
import * as DocumentIndexSql from "../src/layers/sql/index/DocumentIndexSql.ts"
import * as Migrations from "../src/layers/sql/Migrations.ts"
import * as Pglite from "../src/layers/sql/store/Pglite.ts"
import { fingerprint, fingerprintFile, type Template, templateFile } from "../src/layers/sql/store/templates.ts"
import { fill } from "../src/process/store/starterIndex.ts"

/*
 * Writes the databases that a first start unpacks: data/empty-database.tar.br without any table, so that it does not run
 * initdb, and data/starter-database.tar.br with the schema and the starter index. Needed again when PGlite changes its
 * Postgres version, or the schema, the index or the starter documents change. A test says so.
 */

const keep = async (database: PGlite, template: Template): Promise<void> => {
  // The log from before the checkpoint is not needed, and does not compress.
  for (const statement of ["CHECKPOINT", "SELECT pg_switch_wal()", "CHECKPOINT"]) await database.query(statement)
  const tar = Buffer.from(await (await database.dumpDataDir("none")).arrayBuffer())
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
    [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
    [constants.BROTLI_PARAM_SIZE_HINT]: tar.length
  }
  writeFileSync(templateFile(template), brotliCompressSync(tar, { params }))
}

const empty = await PGlite.create()
// Quarry uses one database. The templates of further ones would be two thirds of the files that a first start writes.
await empty.query("UPDATE pg_database SET datistemplate = false")
for (const template of ["template0", "template1"]) await empty.query(`DROP DATABASE ${template}`)
await keep(empty, "empty")
await empty.close()

/** Without partitions of the query log, which depend on the day. */
const schema = Effect.flatMap(Migrations.state, ({ pending }) => Migrations.runOnly(pending))

const dataDir = mkdtempSync(join(tmpdir(), "quarry-template-"))
await Effect.runPromise(
  Effect.andThen(schema, fill).pipe(
    Effect.provide(Layer.provideMerge(DocumentIndexSql.layer, Pglite.layer({ dataDir, sync: false }))),
    Effect.provide(NodeServices.layer)
  )
)
const settings = ["min_wal_size=32MB", "wal_recycle=off"].flatMap((setting) => ["-c", setting])
const starter = await PGlite.create({
  dataDir: join(dataDir, "postgres"),
  startParams: [...PGlite.defaultStartParams, ...settings]
})
await starter.query("VACUUM (FREEZE, ANALYZE)")
await keep(starter, "starter")
await starter.close()
rmSync(dataDir, { recursive: true })
writeFileSync(fingerprintFile, `${fingerprint()}\n`)
