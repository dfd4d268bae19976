import { describe } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as DocumentIndexSql from "../../../src/layers/sql/DocumentIndexSql.ts"
import { documents } from "../../../src/layers/sql/migrations/0002_documents.ts"
import { layer as postgres, postgresMissing } from "../../support/TemporaryPostgres.ts"
import { documentIndexConformance } from "../DocumentIndex.conformance.ts"

const migrated = Layer.effectDiscard(Effect.orDie(documents)).pipe(Layer.provideMerge(postgres))

describe.skipIf(postgresMissing !== undefined)(`Postgres server ${postgresMissing ?? ""}`, () => {
  documentIndexConformance("Postgres", Layer.provide(DocumentIndexSql.layer, migrated))
})
