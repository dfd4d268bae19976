import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readEmptyDatabase } from "../../../../src/layers/sql/store/emptyDatabase.ts"

/** The Postgres of PGlite, as its own documentation names it. */
const expectedMajor = async () => {
  const { PGlite } = await import("@electric-sql/pglite")
  const database = await PGlite.create()
  const { rows } = await database.query<{ readonly version: string }>(
    "select current_setting('server_version_num') as version"
  )
  await database.close()
  return Math.floor(Number(rows[0]?.version) / 10_000)
}

describe("data/empty-database.tar.br", () => {
  it.live("is of the Postgres that PGlite runs (if not: npm run empty-database), and small", () =>
    Effect.promise(async () => {
      const tar = Buffer.from(await (await readEmptyDatabase()).arrayBuffer())
      const at = tar.indexOf("PG_VERSION\0")
      assert.isAbove(at, -1)
      // A header of a tar file has 512 bytes, and the file's content follows.
      const version = tar.toString("latin1", at - (at % 512) + 512, at - (at % 512) + 514)
      assert.strictEqual(Number(version), await expectedMajor())
      const file = createRequire(import.meta.url).resolve("../../../../data/empty-database.tar.br")
      assert.isBelow(readFileSync(file).length, 2_000_000)
    })
  )
})
