import { Context, type Effect, Schema, type Stream } from "effect"
import { parseMoment } from "../../domain/requests/fields.ts"
import type { UpstreamRow } from "../../domain/search/Organic.ts"
import type { SearchRequest } from "../../domain/search/SearchRequest.ts"
import type { Target } from "../../domain/search/Target.ts"

export const Document = Schema.Struct({
  url: Schema.String.check(Schema.isPattern(/^https?:\/\/\S+$/i, { message: "must be an absolute http(s) address" })),
  title: Schema.String.check(Schema.isMinLength(1)),
  /** One heading per line. */
  headings: Schema.optionalKey(Schema.String),
  description: Schema.String,
  /** Weighs less than title and description. Results contain only parts of it. */
  content: Schema.optionalKey(Schema.String),
  language: Schema.optionalKey(Schema.String.check(Schema.isPattern(/^[a-z]{2}$/))),
  /** A date, or a date-time with zone. Searches limited to a time find only documents that have it (R62). */
  published: Schema.optionalKey(
    Schema.String.check(
      Schema.makeFilter(
        (text: string) =>
          parseMoment(text) !== undefined || "must be a date or a date-time with its zone, as in 2026-01-31"
      )
    )
  )
})
export type Document = typeof Document.Type

export interface LoadOptions {
  /** Undefined: all targets. */
  readonly target: Target | undefined
  /** Removes documents missing from the stream, if the stream ends without a failure. */
  readonly replace: false | Replacement
}

/** Documents of other targets and sites are never removed. */
export interface Replacement {
  /** The URL prefix below which documents are removed, with a trailing slash; undefined for the sites of the stream. */
  readonly under: string | undefined
}

export interface Comparison {
  readonly documents: number
  readonly removed: number
}

/** Removing a larger share of the index needs a confirmation, because a wrong file, folder or URL would empty it. */
export const maxUnaskedShare = 0.2

export const removesMuch = ({ documents, removed }: Comparison): boolean => removed > documents * maxUnaskedShare

export interface LoadReport {
  readonly written: number
  readonly removed: number
}

export interface IndexStats {
  readonly documents: number
  readonly byTarget: { readonly [T in Target]?: number }
}

/** Undefined target: all of them. Undefined language: the document states none. */
export interface DocumentCount {
  readonly target: Target | undefined
  readonly language: string | undefined
  readonly documents: number
}

export interface IndexAnswer {
  readonly rows: ReadonlyArray<UpstreamRow>
  /** True if documents were being loaded, so that some may be missing. */
  readonly isLoading: boolean
}

/** The built-in full-text index of pages loaded by the operator. */
export class DocumentIndex extends Context.Service<
  DocumentIndex,
  {
    /** Adds or replaces documents by URL and target. Those written before a failure stay; run the load again. */
    readonly load: <E, R>(
      documents: Stream.Stream<Document, E, R>,
      options: LoadOptions
    ) => Effect.Effect<LoadReport, E, R>
    /** Returns how many documents a load with these options would remove. */
    readonly compare: <E, R>(
      documents: Stream.Stream<Document, E, R>,
      options: { readonly target: Target | undefined; readonly replace: Replacement }
    ) => Effect.Effect<Comparison, E, R>
    /** Returns the number removed. */
    readonly remove: (urls: ReadonlyArray<string>, target: Target | undefined) => Effect.Effect<number>
    /** Returns how many of these are in the index for all targets. */
    readonly count: (urls: ReadonlyArray<string>) => Effect.Effect<number>
    readonly search: (request: SearchRequest) => Effect.Effect<IndexAnswer>
    /** Marks the index as loading, on all replicas, until the work ends or its process crashes. `load` does so too. */
    readonly whileLoading: <A, E, R>(work: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
    readonly isLoading: Effect.Effect<boolean>
    readonly stats: Effect.Effect<IndexStats>
    /** By target and language. Reads every document. */
    readonly counts: Effect.Effect<ReadonlyArray<DocumentCount>>
    readonly clear: Effect.Effect<number>
  }
>()("quarry/services/index/DocumentIndex") {}
