import { Context } from "effect"
import type { CompatShape } from "../domain/compat/CompatShape.ts"
import type { Engines } from "./SearchForm.ts"

/** Compatible endpoints that the operator enabled. None by default (R43). */
export const Compat = Context.Reference<{
  readonly shapes: ReadonlyArray<CompatShape>
  readonly engines: Engines
}>("quarry/references/Compat", { defaultValue: () => ({ shapes: [], engines: {} }) })
