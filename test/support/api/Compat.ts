import { Layer } from "effect"
import { compatShapes } from "../../../src/domain/compat/CompatShape.ts"
import { Compat } from "../../../src/http/compat/Compat.ts"

/** Every endpoint in another service's shape, turned on. */
export const everyShape = Layer.succeed(Compat, {
  shapes: compatShapes,
  engines: { google: "alpha_search", mojeek: "zeta_search" }
})
