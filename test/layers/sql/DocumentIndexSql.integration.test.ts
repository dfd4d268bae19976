import { Layer } from "effect"
import * as DocumentIndexSql from "../../../src/layers/sql/DocumentIndexSql.ts"
import * as Migrations from "../../../src/layers/sql/Migrations.ts"
import * as Pglite from "../../../src/layers/sql/Pglite.ts"
import { describeWithPostgres, layer as postgres } from "../../support/Postgres.ts"
import { documentIndexConformance } from "../DocumentIndex.conformance.ts"

const migrated = Layer.effectDiscard(Migrations.runFile("documents.sql"))

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
