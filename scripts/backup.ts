import { spawnSync } from "node:child_process"
import { cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs"
import { join } from "node:path"
import { Cause, Effect } from "effect"
import { lockDirectory } from "../src/layers/sql/store/DirectoryLock.ts"
import { explain } from "../src/process/lifecycle/explain.ts"

/*
 * Backs up and restores a store. With DATABASE_URL, this is a Postgres database, by pg_dump and pg_restore, while the
 * service runs. Otherwise it is the embedded store in DATA_DIR, whose server must be stopped. docs/operate/backup.md
 * has the procedure.
 */

const usage = `npx node scripts/backup.ts take PATH      writes a backup to PATH, which must not exist
npx node scripts/backup.ts restore PATH   restores it into an empty database, or into a DATA_DIR that must not exist

DATABASE_URL names the Postgres database. Without it, the embedded store in DATA_DIR (.quarry) is meant.`

/** A reason to end, for the operator. */
class Stop extends Error {}

/** The settings of libpq in an address. They are passed in the environment, because others can read arguments. */
const libpq = (address: string): Record<string, string> => {
  const { hostname, password, pathname, port, searchParams, username } = new URL(address)
  const settings: Record<string, string> = {
    PGHOST: hostname.replace(/^\[(.*)\]$/, "$1"),
    PGPORT: port || "5432",
    PGDATABASE: decodeURIComponent(pathname.slice(1)) || "postgres"
  }
  if (username !== "") settings.PGUSER = decodeURIComponent(username)
  if (password !== "") settings.PGPASSWORD = decodeURIComponent(password)
  for (const [name, value] of searchParams) if (name.startsWith("ssl")) settings[`PG${name.toUpperCase()}`] = value
  return settings
}

/** Runs a program of Postgres at the address, and returns its output. */
const postgres = (address: string, program: string, ...args: ReadonlyArray<string>): string => {
  const { error, status, stderr, stdout } = spawnSync(program, args, {
    env: { ...process.env, ...libpq(address), PGAPPNAME: "quarry-backup" },
    encoding: "utf8"
  })
  if (error !== undefined) throw new Stop(`${program} cannot be run (${error.message}): install Postgres's client.`)
  if (status !== 0) throw new Stop(`${program} failed: ${stderr.trim()}`)
  return stdout
}

/** An incomplete dump leaves a file with a different name, so that nobody mistakes it for a backup. */
const takeDump = (address: string, path: string): void => {
  const unfinished = `${path}.unfinished`
  postgres(address, "pg_dump", "--format=custom", "--no-owner", "--no-acl", `--file=${unfinished}`)
  postgres(address, "pg_restore", "--list", unfinished)
  renameSync(unfinished, path)
}

const restoreDump = (address: string, path: string): void => {
  const query = "select count(*) from pg_class where relnamespace = 'public'::regnamespace"
  if (postgres(address, "psql", "--no-psqlrc", "--tuples-only", "--no-align", "--command", query).trim() !== "0") {
    throw new Stop("The database in DATABASE_URL is not empty. Make another one with createdb.")
  }
  const options = ["--no-owner", "--no-acl", "--exit-on-error", "--single-transaction"]
  postgres(address, "pg_restore", ...options, `--dbname=${libpq(address).PGDATABASE}`, path)
  postgres(address, "vacuumdb", "--analyze-only", "--quiet")
}

/** Holds the store's lock, so that no server runs on the files while they are copied. */
const copyStore = (from: string, to: string, locked: string): Promise<void> =>
  Effect.runPromise(
    Effect.scoped(
      Effect.andThen(
        lockDirectory(locked),
        Effect.sync(() => {
          mkdirSync(to, { recursive: true, mode: 0o700 })
          for (const name of readdirSync(from)) {
            if (name !== "quarry.pid")
              cpSync(join(from, name), join(to, name), { recursive: true, preserveTimestamps: true })
          }
        })
      )
    ).pipe(Effect.catchCause((cause) => Effect.die(new Stop(explain(cause) ?? Cause.pretty(cause)))))
  )

const take = async (path: string, address: string | undefined, dataDir: string): Promise<void> => {
  if (existsSync(path)) throw new Stop(`${path} exists. A backup is never written over another one.`)
  if (address !== undefined) return takeDump(address, path)
  if (!existsSync(join(dataDir, "secrets.json"))) throw new Stop(`There is no store in DATA_DIR ${dataDir}.`)
  const unfinished = `${path}.unfinished`
  rmSync(unfinished, { recursive: true, force: true })
  await copyStore(dataDir, unfinished, dataDir)
  renameSync(unfinished, path)
}

const restore = async (path: string, address: string | undefined, dataDir: string): Promise<void> => {
  const isDump = statSync(path, { throwIfNoEntry: false })?.isFile()
  if (isDump === undefined) throw new Stop(`There is no ${path}.`)
  if (address !== undefined) {
    if (!isDump) throw new Stop(`${path} is a copy of an embedded store. Restore it without DATABASE_URL.`)
    return restoreDump(address, path)
  }
  if (isDump) throw new Stop(`${path} is a dump of a Postgres database. Set DATABASE_URL to an empty one.`)
  if (existsSync(dataDir)) throw new Stop(`DATA_DIR ${dataDir} exists. Move it away first.`)
  await copyStore(path, dataDir, dataDir)
}

const main = async (): Promise<number> => {
  process.umask(0o077)
  const [command, path, ...others] = process.argv.slice(2)
  if ((command !== "take" && command !== "restore") || path === undefined || others.length > 0) {
    console.error(usage)
    return 2
  }
  const { DATABASE_URL: address, DATA_DIR: dataDir = ".quarry" } = process.env
  try {
    await (command === "take" ? take : restore)(path, address, dataDir)
    console.log(command === "take" ? `The backup is in ${path}.` : "The backup is restored. Run `ledger verify` now.")
    return 0
  } catch (error) {
    if (!(error instanceof Stop)) throw error
    console.error(error.message)
    return 1
  }
}

process.exitCode = await main()
