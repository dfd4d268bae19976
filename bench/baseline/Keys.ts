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

/** Looks up keys by keyed hash. Caches promises, including rejections, so that concurrent callers share a query. */
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
      // Removes the oldest entry, because a map keeps insertion order.
      cache.delete(name)
      if (cache.size >= maxEntries) cache.delete(cache.keys().next().value ?? "")
      cache.set(name, { caller, until: now + ttlMs })
      return caller
    }
  }
}
