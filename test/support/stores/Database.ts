import { randomUUID } from "node:crypto"
import { Effect, Exit, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import * as Migrations from "../../../src/layers/sql/Migrations.ts"
import * as Postgres from "../../../src/layers/sql/store/Postgres.ts"
import { count } from "../profile/started.ts"
import { serverUrl } from "./serverUrl.ts"
import { fingerprint } from "./Template.ts"

export { serverUrl }

const urlOf = (name: string) => {
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  return Redacted.make(url.href)
}

const connectedTo = (url: Redacted.Redacted) => Effect.provide(Postgres.layer({ url, poolSize: 1 }), { local: true })

const run = (...statements: ReadonlyArray<string>) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.forEach(statements, (statement) => sql.unsafe<{ readonly name: string }>(statement))
  ).pipe(connectedTo(Redacted.make(serverUrl)))

/** True if the server is reachable. */
export const reachable: Effect.Effect<boolean> = Effect.map(Effect.exit(run("select 1")), Exit.isSuccess)

/** Set during a run of tests (`cleanUp.ts`), which drops at its end what is left. */
const testRun = process.env.QUARRY_TEST_RUN

/**
 * Dropping takes a checkpoint, for which a test need not wait. Other programs than a run of tests wait, because nobody
 * cleans up behind them.
 */
const drop = (name: string) => {
  const dropped = run(`drop database ${name} with (force)`)
  return testRun === undefined ? Effect.orDie(dropped) : Effect.sync(() => void Effect.runFork(Effect.ignore(dropped)))
}

const created = (options: string, setting: (name: string) => ReadonlyArray<string>) =>
  Effect.acquireRelease(
    Effect.gen(function* () {
      const name = `quarry_test_${testRun ?? ""}${randomUUID().replaceAll("-", "")}`
      yield* run(`create database ${name} ${options}`, ...setting(name))
      count("database")
      return { name, url: urlOf(name) }
    }),
    ({ name }) => drop(name)
  )

/** Settings with which a server and the operator's commands use a database. */
export const settingsOf = (url: Redacted.Redacted) => ({
  DATABASE_URL: Redacted.value(url),
  AUTH_SECRET: "a secret for tests, of 32 characters or more",
  KEY_PEPPER: "a pepper for tests of 32 characters or more"
})

/** Creates an empty database with the server's settings for the lifetime of the scope. Returns its address. */
export const emptyDatabase = created("", () => [])

/** The templates of other checkouts and schemas that are kept. Each has 10 MB. */
const keptTemplates = 20

const staleTemplates = `
  select datname as name from pg_database where datname like 'quarry\\_template\\_%' order by oid desc offset ${keptTemplates}`

/** Makes a database with the current schema, from which others are copied, if there is none. Returns its name. */
const makeTemplate = Effect.gen(function* () {
  const template = `quarry_template_${fingerprint("the schema alone")}`
  const [found = []] = yield* run(`select datname as name from pg_database where datname = '${template}'`)
  if (found.length > 0) return template
  const making = `quarry_test_${testRun ?? ""}${randomUUID().replaceAll("-", "")}`
  yield* run(`create database ${making}`)
  yield* connectedTo(urlOf(making))(Migrations.run)
  // Another worker may have been faster. Its template is equivalent.
  const named = yield* Effect.exit(run(`alter database ${making} rename to ${template}`))
  if (Exit.isFailure(named)) yield* run(`drop database ${making} with (force)`)
  const [stale = []] = yield* run(staleTemplates)
  for (const { name } of stale) yield* Effect.ignore(run(`drop database ${name}`))
  return template
})

let template: Promise<string> | undefined

/**
 * Creates a database with the current schema for the lifetime of the scope. Returns its address. It is a copy, which
 * takes a fifth of the time of migrating. Its commits do not wait for the disk: use `emptyDatabase` to test what a crash
 * of Postgres leaves, or what `quarry status` says about it.
 */
export const freshDatabase = Effect.flatMap(
  Effect.promise(() => (template ??= Effect.runPromise(makeTemplate))),
  (template) => created(`template ${template}`, (name) => [`alter database ${name} set synchronous_commit = off`])
)
