import { Layer } from "effect"
import * as DocumentIndexSql from "../../../src/layers/sql/DocumentIndexSql.ts"
import { documents } from "../../../src/layers/sql/migrations/0002_documents.ts"
import * as Pglite from "../../../src/layers/sql/Pglite.ts"
import { describeWithPostgres, layer as postgres } from "../../support/Postgres.ts"
import { documentIndexConformance } from "../DocumentIndex.conformance.ts"

const migrated = Layer.effectDiscard(documents)

documentIndexConformance(
  "PGlite",
  DocumentIndexSql.layer.pipe(Layer.provide(migrated), Layer.provide(Pglite.layer({ dataDir: undefined })), Layer.orDie)
)

describeWithPostgres("Postgres", () =>
  documentIndexConformance(
    "Postgres",
    DocumentIndexSql.layer.pipe(Layer.provide(migrated), Layer.provide(postgres), Layer.orDie)
  )
)
