import { Effect, Layer, Metric, Stream } from "effect"
import { decisionFrom, RateLimiter, windowMs } from "../../services/credits/RateLimiter.ts"
import { limiterFallbacks, limiterLocal } from "../../services/telemetry/Metrics.ts"
import * as RateLimiterMemory from "../memory/RateLimiterMemory.ts"
import { RedisConnection } from "./RedisConnection.ts"
import * as Script from "./Script.ts"

/**
 * The times of up to `limit` admitted requests (R27), oldest first, in Unix microseconds of the Redis clock. Times
 * never decrease. If the clock is set back by more than a window, the log restarts: the credential would otherwise be
 * denied until the clock has caught up. `%.0f` keeps all 16 digits; Lua's own conversion keeps 14. The key outlives its
 * last entry by a second, because expiry is in whole milliseconds.
 */
export const script = `
local log, limit, window = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])
local time = redis.call("TIME")
local now = time[1] * 1000000 + time[2]
local newest = tonumber(redis.call("LINDEX", log, -1) or now)
if newest > now + window then redis.call("DEL", log) elseif newest > now then now = newest end
local oldest = tonumber(redis.call("LINDEX", log, 0) or now)
while oldest + window <= now do
  redis.call("LPOP", log)
  oldest = tonumber(redis.call("LINDEX", log, 0) or now)
end
local counted = redis.call("LLEN", log)
if counted >= limit then return {0, counted, oldest, now} end
redis.call("RPUSH", log, string.format("%.0f", now))
redis.call("PEXPIRE", log, math.ceil(window / 1000) + 1000)
return {1, counted + 1, oldest, now}
`

type Reply = readonly [admitted: 0 | 1, counted: number, oldestMicros: number, nowMicros: number]

const count = Script.make<Reply>(script)

/** While Redis is down, each process limits by itself (R28). */
export const layer: Layer.Layer<RateLimiter, never, RedisConnection> = Layer.effect(
  RateLimiter,
  Effect.gen(function* () {
    const connection = yield* RedisConnection
    const inProcess = yield* RateLimiter

    yield* Metric.update(limiterFallbacks.of(), 0)
    yield* Effect.forkScoped(
      Stream.runForEach(connection.away, (away) => Metric.update(limiterLocal.of(), away ? 1 : 0))
    )

    return RateLimiter.of({
      hit: ({ credential, limit }) =>
        connection
          .run((client) => count(client, `quarry:rl:{${credential}}`, limit, windowMs * 1000))
          .pipe(
            Effect.map(([admitted, counted, oldestMicros, nowMicros]) => {
              const [oldestMs, nowMs] = [oldestMicros / 1000, nowMicros / 1000]
              return decisionFrom({ admitted: admitted === 1, limit, counted, oldestMs, nowMs })
            }),
            Effect.catch(() =>
              Effect.andThen(Metric.update(limiterFallbacks.of(), 1), inProcess.hit({ credential, limit }))
            )
          )
    })
  })
).pipe(Layer.provide(RateLimiterMemory.layer()))
