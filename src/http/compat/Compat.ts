import { Context, Effect, Layer } from "effect"
import type { CompatShape } from "../../domain/CompatShape.ts"
import type { Engines } from "./Shape.ts"

/** The endpoints in other services' shapes that the operator has turned on. None by default (R43). */
export const Compat = Context.Reference<{
  readonly shapes: ReadonlyArray<CompatShape>
  readonly engines: Engines
}>("quarry/http/compat/Compat", { defaultValue: () => ({ shapes: [], engines: {} }) })

/** The endpoints that are turned on. Their modules are loaded then alone, because most deployments start without them. */
export const layer = Layer.unwrap(
  Effect.gen(function* () {
    const { shapes } = yield* Compat
    if (shapes.length === 0) return Layer.empty
    const { layerOf } = yield* Effect.promise(() => import("./routes.ts"))
    return layerOf(shapes)
  })
)
