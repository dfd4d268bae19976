import { serverUrl } from "./serverUrl.ts"

/** Names the databases of a run of tests, and drops at its end those that its workers have left. */
export default function setup(): () => Promise<void> {
  // Each project of the configuration calls this.
  process.env.QUARRY_TEST_RUN ??= `${Date.now().toString(36)}_`
  const run = process.env.QUARRY_TEST_RUN
  return async () => {
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
}
