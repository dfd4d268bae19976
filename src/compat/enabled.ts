import { Effect, Layer } from "effect"
import { PageSettings } from "../services/pages/PageSettings.ts"
import { Compat } from "./Compat.ts"

/** Loads only the modules of enabled endpoints, because most deployments use none. */
export const layer = Layer.unwrap(
  Effect.gen(function* () {
    const { shapes } = yield* Compat
    if (shapes.length === 0) return Layer.empty
    const searches = yield* Effect.promise(() => import("./routes.ts"))
    const unknown = yield* Effect.promise(() => import("./unknown.ts"))
    const layer = Layer.merge(searches.layerOf(shapes), unknown.layerOf(shapes))
    if (!(yield* PageSettings).isOn) return layer
    const pages = yield* Effect.promise(() => import("./pages/routes.ts"))
    return Layer.merge(layer, pages.layerOf(shapes))
  })
)
