import { Context, Effect, Layer } from "effect"
import type { RedisStatus } from "../domain/Status.ts"

/** Redis as the operator looks at it. */
export class RedisInspection extends Context.Service<
  RedisInspection,
  {
    /** Never fails, and ends within seconds. */
    readonly look: Effect.Effect<RedisStatus>
  }
>()("quarry/services/RedisInspection") {
  /** A deployment without Redis. */
  static readonly layerOff = Layer.succeed(
    RedisInspection,
    RedisInspection.of({ look: Effect.succeed({ state: "off", reason: null }) })
  )
}
