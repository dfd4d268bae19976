import { Layer } from "effect"
import { Compat } from "../../../src/compat/Compat.ts"
import { compatShapes } from "../../../src/domain/compat/CompatShape.ts"

/** All compatible endpoints, turned on. */
export const everyShape = Layer.succeed(Compat, {
  shapes: compatShapes,
  engines: { google: "alpha_search", mojeek: "zeta_search" }
})
