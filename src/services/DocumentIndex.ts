import { Context, type Effect, Schema, type Stream } from "effect"
import type { UpstreamRow } from "../domain/Organic.ts"
import type { SearchRequest } from "../domain/SearchRequest.ts"
import type { Target } from "../domain/Target.ts"

/** A page of the built-in index. */
export const Document = Schema.Struct({
  url: Schema.String.check(Schema.isPattern(/^https?:\/\/\S+$/i, { message: "must be an absolute http(s) address" })),
  title: Schema.String.check(Schema.isMinLength(1)),
  description: Schema.String,
  language: Schema.optionalKey(Schema.String.check(Schema.isPattern(/^[a-z]{2}$/)))
})
export type Document = typeof Document.Type

export interface IndexStats {
  readonly documents: number
  /** Documents that serve one target only; the others serve every target. */
  readonly byTarget: { readonly [T in Target]?: number }
}

/** The built-in index: a full-text search over pages that the operator has loaded. */
export class DocumentIndex extends Context.Service<
  DocumentIndex,
  {
    /**
     * Adds documents, and replaces those with the same URL and target. Without a target they serve all six. Returns the
     * number of documents written.
     */
    readonly load: <E, R>(
      documents: Stream.Stream<Document, E, R>,
      target: Target | undefined
    ) => Effect.Effect<number, E, R>
    /** The rows of the requested page, best first. */
    readonly search: (request: SearchRequest) => Effect.Effect<ReadonlyArray<UpstreamRow>>
    readonly stats: Effect.Effect<IndexStats>
    /** Removes every document and returns their number. */
    readonly clear: Effect.Effect<number>
  }
>()("quarry/services/DocumentIndex") {}
