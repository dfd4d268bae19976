import type { Effect, Stream } from "effect"
import type { Refusal } from "../../domain/providers/Refusal.ts"
import type { Target } from "../../domain/search/Target.ts"
import type { Document, Replacement } from "./DocumentIndex.ts"

export interface StoreOptions {
  /** The target that the documents serve; undefined for all six. */
  readonly target: Target | undefined
  /** Removes documents that the stream does not have, if the stream ends without a failure. */
  readonly replace: false | Replacement
  /** The largest share of all documents that may be removed. */
  readonly maxRemovedShare: number
}

export interface StoreReport {
  readonly written: number
  readonly removed: number
  /** Documents that the engine rejected. */
  readonly rejected: number
  /** Set if `replace` would have removed more than `maxRemovedShare`, so that nothing was removed. */
  readonly kept: { readonly documents: number; readonly removed: number } | undefined
}

/** The documents of a provider outside of Quarry, such as OpenSearch. Creates its index on the first load. */
export interface DocumentStore {
  readonly load: <E, R>(
    documents: Stream.Stream<Document, E, R>,
    options: StoreOptions
  ) => Effect.Effect<StoreReport, E | Refusal, R>
}
