import { Effect, Layer } from "effect"
import { Compat } from "./Compat.ts"

/** Loads the endpoints only if any is enabled, because most deployments use none. */
export const layer = Layer.unwrap(
  Effect.gen(function* () {
    const { shapes } = yield* Compat
    if (shapes.length === 0) return Layer.empty
    const { layerOf } = yield* Effect.promise(() => import("./routes.ts"))
    return layerOf(shapes)
  })
)
