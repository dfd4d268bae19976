import { Effect, Layer } from "effect"
import { PageSettings } from "../../services/pages/PageSettings.ts"
import { Compat } from "./Compat.ts"

/** Loads only the modules of enabled endpoints, because most deployments use none. */
export const layer = Layer.unwrap(
  Effect.gen(function* () {
    const { shapes } = yield* Compat
    if (shapes.length === 0) return Layer.empty
    const { layerOf } = yield* Effect.promise(() => import("./routes.ts"))
    if (!(yield* PageSettings).isOn) return layerOf(shapes)
    const pages = yield* Effect.promise(() => import("./pages/routes.ts"))
    return Layer.merge(layerOf(shapes), pages.layerOf(shapes))
  })
)
