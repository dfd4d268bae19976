import { type Duration, Layer, type Redacted } from "effect"
import * as PacerRedis from "./PacerRedis.ts"
import * as RateLimiterRedis from "./RateLimiterRedis.ts"
import { RedisConnection } from "./RedisConnection.ts"
import * as ResultCacheRedis from "./ResultCacheRedis.ts"

export interface SharedRedisOptions {
  /** One address, or a comma list of a cluster's nodes. */
  readonly url: Redacted.Redacted
  /** The time for which an answer is kept; zero turns the result cache off. */
  readonly ttl: Duration.Duration
}

/**
 * The state that all replicas share through Redis, on one connection. A start without Redis does not load its client.
 */
export const layer = ({ ttl, url }: SharedRedisOptions) =>
  Layer.mergeAll(RateLimiterRedis.layer, ResultCacheRedis.layer({ ttl }), PacerRedis.layer).pipe(
    Layer.provide(RedisConnection.layer({ url }))
  )
