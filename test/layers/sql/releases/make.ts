import { execFileSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { gzipSync } from "node:zlib"
import { Effect, Redacted } from "effect"
import { version } from "../../../../src/domain/version.ts"
import * as Postgres from "../../../../src/layers/sql/store/Postgres.ts"
import { useAll } from "../../../support/api/useAll.ts"
import { emptyDatabase } from "../../../support/stores/Database.ts"
import * as SqlStorage from "../../../support/stores/SqlStorage.ts"

/**
 * Writes the dump of a store of this version, from which Releases.integration.test.ts upgrades. Run it before the release,
 * never after: `node test/layers/sql/releases/make.ts`, with a test server and `pg_dump`.
 */
const make = Effect.gen(function* () {
  const { url } = yield* emptyDatabase
  yield* Effect.provide(useAll, SqlStorage.layer(Postgres.layer({ url, poolSize: 6 })))
  const dump = execFileSync("pg_dump", ["--inserts", "--no-owner", "--no-acl", Redacted.value(url)])
  writeFileSync(new URL(`${version}.sql.gz`, import.meta.url), gzipSync(dump, { level: 9 }))
})

await Effect.runPromise(Effect.scoped(make))
