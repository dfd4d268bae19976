import { Layer } from "effect"
import { compatShapes } from "../../../src/domain/compat/CompatShape.ts"
import { Compat } from "../../../src/http/compat/Compat.ts"

/** All compatible endpoints, turned on. */
export const everyShape = Layer.succeed(Compat, {
  shapes: compatShapes,
  engines: { google: "alpha_search", mojeek: "zeta_search" }
})
