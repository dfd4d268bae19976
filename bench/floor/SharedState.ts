import { hash } from "node:crypto"
import { Redis } from "ioredis"
import { Ranking } from "../../src/domain/search/Ranking.ts"
import * as RateLimiterRedis from "../../src/layers/redis/RateLimiterRedis.ts"
import { makeWriter } from "../../src/layers/redis/RedisClient.ts"

const windowMs = 60_000
const ttlMs = 300_000

export interface Decision {
  readonly admitted: boolean
  readonly limit: number
  readonly remaining: number
  readonly resetAt: number
  readonly retryAfter: number
}

const keyOf = (query: string): string =>
  `quarry:rc:${hash("sha256", JSON.stringify(["alpha_search", query, "us", "en-us", 1, 10, "off"]), "base64url")}`

const prefix = '{"provider":"stub/google","organic":'

/** The limiter and the cache: Quarry's script, keys and values, and its way to write the commands of one turn at once. */
export const makeSharedState = async (url: string) => {
  const redis = new Redis(url)
  const writer = makeWriter(redis)
  const digest = hash("sha1", RateLimiterRedis.script)
  await redis.script("LOAD", RateLimiterRedis.script)
  return {
    hit: async (credential: string, limit: number): Promise<Decision> => {
      writer.hold()
      const reply = await redis.evalsha(digest, 1, `quarry:rl:{${credential}}`, limit, windowMs * 1000)
      // The cast states the script's return type.
      const [admitted, counted, oldest, now] = reply as [number, number, number, number]
      const leavesAtMs = oldest / 1000 + windowMs
      return {
        admitted: admitted === 1,
        limit,
        remaining: limit - counted,
        resetAt: Math.ceil(leavesAtMs / 1000),
        retryAfter: Math.max(1, Math.ceil((leavesAtMs - now / 1000) / 1000))
      }
    },
    get: async (query: string): Promise<Ranking | undefined> => {
      writer.hold()
      const text = await redis.get(keyOf(query))
      return text === null ? undefined : new Ranking(JSON.parse(text).organic)
    },
    /** The caller does not wait for the write. */
    set: (query: string, { json }: Ranking): void => {
      writer.hold()
      void redis.set(keyOf(query), `${prefix}${json}}`, "PX", ttlMs)
    }
  }
}
