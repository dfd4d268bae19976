import { type Duration, Layer, type Redacted } from "effect"
import * as PacerRedis from "./PacerRedis.ts"
import * as PageCacheRedis from "./PageCacheRedis.ts"
import * as RateLimiterRedis from "./RateLimiterRedis.ts"
import { RedisConnection } from "./RedisConnection.ts"
import * as ResultCacheRedis from "./ResultCacheRedis.ts"

export interface SharedRedisOptions {
  readonly url: Redacted.Redacted
  readonly ttl: Duration.Duration
}

/** All replicas share this state over one connection. Loaded only if Redis is configured. */
export const layer = ({ ttl, url }: SharedRedisOptions) =>
  Layer.mergeAll(RateLimiterRedis.layer, ResultCacheRedis.layer({ ttl }), PageCacheRedis.layer, PacerRedis.layer).pipe(
    Layer.provide(RedisConnection.layer({ url }))
  )
