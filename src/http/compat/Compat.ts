import { Context, Effect, Layer } from "effect"
import type { CompatShape } from "../../domain/compat/CompatShape.ts"
import type { Engines } from "./Shape.ts"

/** Compatible endpoints that the operator enabled. None by default (R43). */
export const Compat = Context.Reference<{
  readonly shapes: ReadonlyArray<CompatShape>
  readonly engines: Engines
}>("quarry/http/compat/Compat", { defaultValue: () => ({ shapes: [], engines: {} }) })

/** Loads only the modules of enabled endpoints, because most deployments use none. */
export const layer = Layer.unwrap(
  Effect.gen(function* () {
    const { shapes } = yield* Compat
    if (shapes.length === 0) return Layer.empty
    const { layerOf } = yield* Effect.promise(() => import("./routes.ts"))
    return layerOf(shapes)
  })
)
