import { Context, type Effect, type Stream } from "effect"
import { OperatorError } from "../../domain/OperatorError.ts"
import type { Target } from "../../domain/search/Target.ts"
import type { Document } from "./DocumentIndex.ts"

/** The provider cannot take documents. The message says why and what to do, without any credential. */
export class ExternalIndexFailed extends OperatorError("ExternalIndexFailed") {}

export interface ExternalLoad {
  readonly written: number
  /** True if the index was not there before. */
  readonly isNew: boolean
  readonly rejected: number
  /** The first rejected documents, with the engine's reason. */
  readonly problems: ReadonlyArray<{ readonly url: string; readonly problem: string }>
}

/** Indexes of engines outside, which providers of the provider file search. */
export class ExternalIndexes extends Context.Service<
  ExternalIndexes,
  {
    /**
     * Adds or replaces documents by URL and target in the index of a provider, and creates the index if it does not
     * exist. Those written before a failure stay; run the load again.
     */
    readonly load: <E, R>(
      provider: string,
      documents: Stream.Stream<Document, E, R>,
      target: Target | undefined
    ) => Effect.Effect<ExternalLoad, E | ExternalIndexFailed, R>
  }
>()("quarry/services/index/ExternalIndexes") {}
