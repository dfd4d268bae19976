import { Context, Effect, Layer } from "effect"
import type { RedisStatus } from "../../domain/operations/Status.ts"

export class RedisInspection extends Context.Service<
  RedisInspection,
  {
    /** Never fails, and returns within seconds. */
    readonly look: Effect.Effect<RedisStatus>
  }
>()("quarry/services/operations/RedisInspection") {
  static readonly layerOff = Layer.succeed(
    RedisInspection,
    RedisInspection.of({ look: Effect.succeed({ state: "off", reason: null }) })
  )
}
