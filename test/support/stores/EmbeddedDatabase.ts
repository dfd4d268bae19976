import { Effect, Layer } from "effect"
import * as NewStore from "../../../src/layers/sql/store/NewStore.ts"
import * as Pglite from "../../../src/layers/sql/store/Pglite.ts"
import * as Template from "./Template.ts"

/**
 * The client of an embedded database that has the present schema and no row. It is a copy, which opens five times as fast
 * as a new one is made.
 */
export const layer = Layer.unwrap(
  Effect.map(
    Template.copyOf("the schema alone", (dataDir) => Effect.orDie(NewStore.make(dataDir, Effect.void))),
    (dataDir) => Pglite.layer({ dataDir })
  )
)
