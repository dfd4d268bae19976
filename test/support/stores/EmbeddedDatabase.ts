import { Effect, Layer } from "effect"
import * as NewStore from "../../../src/layers/sql/store/NewStore.ts"
import * as Pglite from "../../../src/layers/sql/store/Pglite.ts"
import * as Template from "./Template.ts"

/**
 * A client of an empty embedded database with the current schema. It is a copy, which is five times as fast to open as
 * a new one.
 */
export const layer = Layer.unwrap(
  Effect.map(
    Template.copyOf("the schema alone", (dataDir) =>
      Effect.orDie(NewStore.make({ dataDir, sync: false }, Effect.void))
    ),
    (dataDir) => Pglite.layer({ dataDir, sync: false })
  )
)
