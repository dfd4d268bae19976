import type { Redis, Result } from "ioredis"

declare module "ioredis" {
  interface RedisCommander<Context> {
    rollingWindow(
      key: string,
      limit: number
    ): Result<[admitted: number, counted: number, oldest: number, now: number], Context>
  }
}

/**
 * An exact rolling minute as a list of the times of admitted requests, oldest first. A list is cheaper than the usual
 * sorted set, because both ends are directly accessible and members need no unique names.
 */
const lua = `
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local oldest = tonumber(redis.call("LINDEX", KEYS[1], 0) or now)
while oldest + 60000 <= now do
  redis.call("LPOP", KEYS[1])
  oldest = tonumber(redis.call("LINDEX", KEYS[1], 0) or now)
end
local counted = redis.call("LLEN", KEYS[1])
if counted >= tonumber(ARGV[1]) then return {0, counted, oldest, now} end
redis.call("RPUSH", KEYS[1], now)
redis.call("PEXPIRE", KEYS[1], 61000)
return {1, counted + 1, oldest, now}
`

export interface Decision {
  readonly admitted: boolean
  readonly limit: number
  readonly remaining: number
  readonly resetAt: number
  readonly retryAfter: number
}

/** One round trip for each request: ioredis sends the script's hash. */
export const makeLimiter = (redis: Redis) => {
  redis.defineCommand("rollingWindow", { numberOfKeys: 1, lua })
  return async (keyId: string, limit: number): Promise<Decision> => {
    const [admitted, counted, oldest, now] = await redis.rollingWindow(`base:rl:${keyId}`, limit)
    return {
      admitted: admitted === 1,
      limit,
      remaining: Math.max(0, limit - counted),
      resetAt: Math.ceil((oldest + 60_000) / 1000),
      retryAfter: Math.max(1, Math.ceil((oldest + 60_000 - now) / 1000))
    }
  }
}
