import { createHmac } from "node:crypto"
import type { Pool } from "pg"

export interface Caller {
  readonly keyId: string
  readonly accountId: string
  readonly concurrency: number
}

const ttlMs = 30_000
const maxEntries = 10_000

const lookup = {
  name: "key",
  text: `select k.id as "keyId", a.id as "accountId", a.concurrency
    from api_keys k join accounts a on a.id = k.account_id where k.digest = $1 and k.revoked_at is null`
}

/** Keys by keyed hash. Answers are cached, refusals too; what is cached is the promise, so that a crowd asks once. */
export const makeKeys = (pool: Pool, pepper: string) => {
  const cache = new Map<string, { readonly caller: Promise<Caller | undefined>; readonly until: number }>()

  const find = async (digest: Buffer): Promise<Caller | undefined> =>
    (await pool.query<Caller>({ ...lookup, values: [digest] })).rows[0]

  return {
    authenticate: (authorization: string | undefined): Promise<Caller | undefined> => {
      const secret = /^bearer (sk_(?:live|test)_[0-9A-Za-z]{49})$/i.exec(authorization ?? "")?.[1]
      if (secret === undefined) return Promise.resolve(undefined)
      const digest = createHmac("sha256", pepper).update(secret).digest()
      const name = digest.toString("base64")
      const now = Date.now()
      const cached = cache.get(name)
      if (cached !== undefined && cached.until > now) return cached.caller
      const caller = find(digest)
      caller.catch(() => cache.delete(name))
      // The oldest goes: a map keeps the order in which its entries were made.
      cache.delete(name)
      if (cache.size >= maxEntries) cache.delete(cache.keys().next().value ?? "")
      cache.set(name, { caller, until: now + ttlMs })
      return caller
    }
  }
}
