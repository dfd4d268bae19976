import { readdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import { serverUrl } from "./stores/serverUrl.ts"
import { storeParents } from "./stores/storeParents.ts"

const dropDatabases = async (run: string): Promise<void> => {
  const { Client } = await import("pg")
  const client = new Client({ connectionString: serverUrl })
  try {
    await client.connect()
  } catch {
    // Without a server, there are no databases either.
    return
  }
  const { rows } = await client.query<{ readonly name: string }>(
    "select datname as name from pg_database where starts_with(datname, $1)",
    [`quarry_test_${run}`]
  )
  for (const { name } of rows) await client.query(`drop database if exists ${name} with (force)`)
  await client.end()
}

const removeDirectories = (run: string): void => {
  for (const parent of storeParents) {
    for (const name of readdirSync(parent).filter((it) => it.startsWith(`quarry-${run}`))) {
      rmSync(join(parent, name), { recursive: true, force: true })
    }
  }
}

/** Names the databases and directories of a run of tests, and removes at its end those that its workers have left. */
export default function setup(): () => Promise<void> {
  // Each project of the configuration calls this. A test may start a run of its own, as those of mutations do, which must
  // not remove what belongs to the run around it.
  const mine = `${process.pid}_`
  const current = process.env.QUARRY_TEST_RUN
  const run = current?.endsWith(mine) ? current : `${Date.now().toString(36)}_${mine}`
  process.env.QUARRY_TEST_RUN = run
  return async () => {
    removeDirectories(run)
    await dropDatabases(run)
  }
}
