import { Context, type Effect } from "effect"
import { OperatorError } from "../../domain/OperatorError.ts"
import type { Missing } from "../../domain/providers/JsonPath.ts"
import type { Refusal } from "../../domain/providers/Refusal.ts"
import type { Json } from "../../domain/providers/Template.ts"
import type { UpstreamRow } from "../../domain/search/Organic.ts"
import type { SearchRequest } from "../../domain/search/SearchRequest.ts"

/** Secrets have their names in place of their values. */
export interface ShownRequest {
  readonly method: string
  /** With the query string. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Json | null
}

/** A path of the description that finds nothing in the response. */
export interface MissingPath extends Missing {
  /** The member of the description, such as `response.title`. */
  readonly member: string
  readonly path: string
}

export interface Trial {
  readonly request: ShownRequest
  /** Undefined without a response. */
  readonly status: number | undefined
  /** Undefined if the provider answered. */
  readonly refusal: Refusal | undefined
  readonly rows: ReadonlyArray<UpstreamRow>
  readonly missing: ReadonlyArray<MissingPath>
  readonly durationMs: number
}

/** Says what is wrong with the name or the description. */
export class TrialImpossible extends OperatorError("TrialImpossible") {}

/** Tries descriptions of providers (R86). */
export class ProviderTrials extends Context.Service<
  ProviderTrials,
  {
    /** Sends one search to a provider of the provider file. It is neither charged nor logged. */
    readonly run: (name: string, request: SearchRequest) => Effect.Effect<Trial, TrialImpossible>
  }
>()("quarry/services/providers/ProviderTrials") {}
