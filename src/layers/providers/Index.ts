import { Effect, Schema } from "effect"
import { DocumentIndex } from "../../services/DocumentIndex.ts"
import { define } from "./ProviderType.ts"

/** The built-in index as a provider. It refuses nothing: where its store fails, so does everything else. */
export const type = define({
  options: Schema.Record(Schema.String, Schema.Never.annotate({ message: "is not allowed here" })),
  engines: "none",
  make: (name) =>
    Effect.map(DocumentIndex, ({ search }) => () => ({ name, search }))
})
