import { Context, type Effect, Schema, type Stream } from "effect"
import type { UpstreamRow } from "../domain/Organic.ts"
import type { SearchRequest } from "../domain/SearchRequest.ts"
import type { Target } from "../domain/Target.ts"

/** A page of the built-in index. */
export const Document = Schema.Struct({
  url: Schema.String.check(Schema.isPattern(/^https?:\/\/\S+$/i, { message: "must be an absolute http(s) address" })),
  title: Schema.String.check(Schema.isMinLength(1)),
  description: Schema.String,
  /** The text of the page. It is searched with less weight than title and description, and never answered as a whole. */
  content: Schema.optionalKey(Schema.String),
  language: Schema.optionalKey(Schema.String.check(Schema.isPattern(/^[a-z]{2}$/)))
})
export type Document = typeof Document.Type

export interface LoadOptions {
  /** The target that the documents serve; all six when undefined. */
  readonly target: Target | undefined
  /** Removes the documents of this target that the stream does not have, once it has ended without a failure. */
  readonly replace: boolean
}

export interface LoadReport {
  readonly written: number
  readonly removed: number
}

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
     * Adds documents, and replaces those with the same address and target. What was written before the stream failed
     * stays, so that a load that was stopped is run again.
     */
    readonly load: <E, R>(
      documents: Stream.Stream<Document, E, R>,
      options: LoadOptions
    ) => Effect.Effect<LoadReport, E, R>
    /** The rows of the requested page, best first. */
    readonly search: (request: SearchRequest) => Effect.Effect<ReadonlyArray<UpstreamRow>>
    readonly stats: Effect.Effect<IndexStats>
    /** Removes every document and returns their number. */
    readonly clear: Effect.Effect<number>
  }
>()("quarry/services/DocumentIndex") {}
