import { Context, type Effect, type Stream } from "effect"
import { OperatorError } from "../../domain/OperatorError.ts"
import type { Target } from "../../domain/search/Target.ts"
import type { Document } from "./DocumentIndex.ts"

/** The message names no credential. */
export class ExternalIndexFailed extends OperatorError("ExternalIndexFailed") {}

export interface ExternalLoad {
  readonly written: number
  readonly isNew: boolean
  readonly rejected: number
  /** The first rejected documents, with the engine's reason. */
  readonly problems: ReadonlyArray<{ readonly url: string; readonly problem: string }>
}

/** Search engines outside Quarry that the provider file names. */
export class ExternalIndexes extends Context.Service<
  ExternalIndexes,
  {
    /** Creates the index if it does not exist. Documents written before a failure stay; run the load again. */
    readonly load: <E, R>(
      provider: string,
      documents: Stream.Stream<Document, E, R>,
      target: Target | undefined
    ) => Effect.Effect<ExternalLoad, E | ExternalIndexFailed, R>
  }
>()("quarry/services/index/ExternalIndexes") {}
