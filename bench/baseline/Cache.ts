import { createHash } from "node:crypto"
import type { Redis } from "ioredis"
import type { UpstreamRow } from "../../src/domain/search/Organic.ts"
import type { Search } from "./Search.ts"

const ttlMs = 300_000

const keyOf = ({ geo, locale, num, page, query, safe, target }: Search): string =>
  `base:rc:${createHash("sha256")
    .update(JSON.stringify([target, query, geo, locale, page, num, safe]))
    .digest("base64url")}`

/** Caches answers as JSON. The caller does not wait for writes. */
export const makeCache = (redis: Redis, failed: (error: unknown) => void) => ({
  get: async (search: Search): Promise<ReadonlyArray<UpstreamRow> | undefined> => {
    const text = await redis.get(keyOf(search))
    return text === null ? undefined : JSON.parse(text)
  },
  set: (search: Search, rows: ReadonlyArray<UpstreamRow>): void => {
    redis.set(keyOf(search), JSON.stringify(rows), "PX", ttlMs).catch(failed)
  }
})
