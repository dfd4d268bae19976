import { createHmac } from "node:crypto"
import pg from "pg"
import { grouped } from "./grouped.ts"

export interface Caller {
  readonly keyId: string
  readonly accountId: string
  readonly concurrency: number
}

// The same values as in `src/layers/sql/keys/PrincipalCache.ts`.
const renewEveryMs = 3_000
const maxReadTogether = 256

/** The columns of a key and its account that Quarry reads. This program uses three of them. */
const lookup = {
  name: "keys",
  text: `select a.id, a.email, a.plan, a.quota, a.concurrency, a.cycle_start, a.created_at, a.suspended_at, a.next_plan,
      a.next_quota, a.next_concurrency, a.next_plan_at, a.pack_rate, k.id as key_id, k.label, k.mode, k.last_used_at,
      k.digest
    from api_keys k join accounts a on a.id = k.account_id
    where k.digest = any ($1::bytea[]) and k.revoked_at is null and a.deleted_at is null`
}

interface Row {
  readonly id: string
  readonly concurrency: number
  readonly key_id: string
  readonly digest: Buffer
}

/** Callers by the digests of their keys. All that are known are read again every three seconds, hundreds in one statement. */
export const makeKeys = async (databaseUrl: string, pepper: string) => {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  const known = new Map<string, Caller | undefined>()

  const read = grouped<string, Caller | undefined>(maxReadTogether, async (digests) => {
    const { rows } = await client.query<Row>({
      ...lookup,
      values: [digests.map((digest) => Buffer.from(digest, "base64"))]
    })
    const callers = new Map(
      rows.map((row) => [
        row.digest.toString("base64"),
        { keyId: row.key_id, accountId: row.id, concurrency: row.concurrency }
      ])
    )
    return digests.map((digest) => callers.get(digest))
  })

  const remember = async (digest: string): Promise<Caller | undefined> => {
    const caller = await read(digest)
    known.set(digest, caller)
    return caller
  }

  setInterval(() => {
    for (const digest of known.keys()) void remember(digest)
  }, renewEveryMs)

  return (authorization = ""): Caller | undefined | Promise<Caller | undefined> => {
    const digest = createHmac("sha256", pepper).update(authorization.slice("Bearer ".length)).digest("base64")
    return known.has(digest) ? known.get(digest) : remember(digest)
  }
}
