import { writeFileSync } from "node:fs"
import { brotliCompressSync, constants } from "node:zlib"
import { PGlite } from "@electric-sql/pglite"

/*
 * Writes data/empty-database.tar.br: the files of a database without any table, so that a first start does not run initdb,
 * which takes two thirds of its time. Needed again only when PGlite changes its Postgres version; a test says so.
 */

const database = await PGlite.create()
// Quarry uses one database. The templates of further ones would be two thirds of the files that a first start writes.
await database.query("UPDATE pg_database SET datistemplate = false")
for (const template of ["template0", "template1"]) await database.query(`DROP DATABASE ${template}`)
await database.query("CHECKPOINT")
const tar = Buffer.from(await (await database.dumpDataDir("none")).arrayBuffer())
await database.close()
const params = {
  [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
  [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
  [constants.BROTLI_PARAM_SIZE_HINT]: tar.length
}
writeFileSync(new URL("../data/empty-database.tar.br", import.meta.url), brotliCompressSync(tar, { params }))
