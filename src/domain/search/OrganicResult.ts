import { Schema } from "effect"

export const OrganicResult = Schema.Struct({
  position: Schema.Int.annotate({ description: "1-based rank within the answered page, after de-duplication" }),
  title: Schema.String,
  url: Schema.String,
  domain: Schema.String.annotate({
    description: "Registrable domain of url, or the hostname when it has no public suffix"
  }),
  snippet: Schema.String.annotate({ description: "The engine's description; empty when it gave none" }),
  published: Schema.optionalKey(
    Schema.String.annotate({ description: "Date or date-time of publication, if the engine gave one" })
  )
}).annotate({ identifier: "OrganicResult" })
export type OrganicResult = typeof OrganicResult.Type
