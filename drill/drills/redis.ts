import { Effect } from "effect"
import { type RedisServer, redisServer } from "../../test/support/servers/RedisServer.ts"
import type { Drill } from "../Drill.ts"
import * as Deployment from "../support/Deployment.ts"
import { during } from "../support/Observation.ts"

const troubleSeconds = { short: 4, full: 30 }

/** Redis carries limits and cached answers, and no request waits for it: nothing may fail (R28). */
const drill = (
  name: string,
  failure: string,
  trouble: (redis: RedisServer, wait: Effect.Effect<void>) => Effect.Effect<void>
): Drill => ({
  name,
  failure,
  mayFail: 0,
  run: Effect.fnUntraced(function* ({ short }) {
    const redis = yield* redisServer
    const deployment = yield* Deployment.make({ database: yield* Deployment.postgres, redis })
    const seconds = short ? troubleSeconds.short : troubleSeconds.full
    return yield* during(
      deployment,
      { failureSeconds: seconds + 2, afterSeconds: 5, short },
      trouble(redis, Effect.sleep(`${seconds} seconds`))
    )
  })
})

const cli = (redis: RedisServer, ...args: ReadonlyArray<string>) => Effect.promise(() => redis.cli(...args))

export const redisDrills: ReadonlyArray<Drill> = [
  drill("redis-frozen", "Redis frozen 30 s, then killed and restarted", (redis, wait) =>
    Effect.gen(function* () {
      redis.signal("SIGSTOP")
      yield* wait
      yield* Effect.promise(() => redis.stop())
      yield* Effect.promise(() => redis.start())
    })
  ),
  drill("redis-full", "Redis full", (redis, wait) =>
    Effect.gen(function* () {
      yield* cli(redis, "config", "set", "maxmemory", "1")
      yield* wait
      yield* cli(redis, "config", "set", "maxmemory", "0")
    })
  ),
  drill("redis-read-only", "Redis read-only", (redis, wait) =>
    Effect.gen(function* () {
      // A replica of a server that is not there keeps its data and takes no writes.
      yield* cli(redis, "replicaof", "127.0.0.1", "1")
      yield* wait
      yield* cli(redis, "replicaof", "no", "one")
    })
  )
]
