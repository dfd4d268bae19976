import { Effect, Layer } from "effect"
import { intervalMs, Pacer } from "../../services/providers/Pacer.ts"
import * as PacerMemory from "../memory/PacerMemory.ts"
import { RedisConnection } from "./RedisConnection.ts"
import * as Script from "./Script.ts"

/**
 * Returns the microseconds until the reserved slot, or -1 if it is too far off. A clock that was set back by more than
 * the longest wait restarts the pace. `%.0f` keeps all 16 digits; Lua's own conversion keeps 14.
 */
const script = `
local pace, interval, within = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])
local time = redis.call("TIME")
local now = time[1] * 1000000 + time[2]
local turn = tonumber(redis.call("GET", pace) or now)
if turn < now or turn > now + interval + 120000000 then turn = now end
if turn - now > within then return -1 end
redis.call("SET", pace, string.format("%.0f", turn + interval), "PX", math.ceil((turn + interval - now) / 1000) + 1000)
return turn - now
`

const take = Script.make<number>(script)

/** While Redis is down, each replica paces itself. */
export const layer: Layer.Layer<Pacer, never, RedisConnection> = Layer.effect(
  Pacer,
  Effect.gen(function* () {
    const connection = yield* RedisConnection
    const inProcess = yield* Pacer
    return Pacer.of({
      take: (pace) =>
        connection
          .run((client) =>
            take(
              client,
              `quarry:pace:{${pace.name}}`,
              Math.ceil(intervalMs(pace.perSecond) * 1000),
              Math.floor(pace.withinMs * 1000)
            )
          )
          .pipe(
            Effect.map((micros) => (micros < 0 ? undefined : micros / 1000)),
            Effect.catch(() => inProcess.take(pace))
          )
    })
  })
).pipe(Layer.provide(PacerMemory.layer))
