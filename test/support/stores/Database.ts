import { randomUUID } from "node:crypto"
import { Effect, Exit, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import * as Postgres from "../../../src/layers/sql/store/Postgres.ts"

/** The server on which tests create their databases. */
export const serverUrl = process.env.QUARRY_TEST_DATABASE_URL ?? "postgres://root@127.0.0.1:5432/postgres"

const run = (text: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(text)).pipe(
    Effect.provide(Postgres.layer({ url: Redacted.make(serverUrl), poolSize: 1 }), { local: true })
  )

/** True if the server is reachable. */
export const reachable: Effect.Effect<boolean> = Effect.map(Effect.exit(run("select 1")), Exit.isSuccess)

/** Creates an empty database for the lifetime of the scope. Returns its address. */
export const freshDatabase = Effect.acquireRelease(
  Effect.gen(function* () {
    const name = `quarry_test_${randomUUID().replaceAll("-", "")}`
    yield* run(`create database ${name}`)
    const url = new URL(serverUrl)
    url.pathname = `/${name}`
    return { name, url: Redacted.make(url.href) }
  }),
  ({ name }) => Effect.orDie(run(`drop database ${name} with (force)`))
)
