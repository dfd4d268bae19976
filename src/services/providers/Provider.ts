import type { Effect } from "effect"
import type { Refusal } from "../../domain/providers/Refusal.ts"
import type { Answer } from "../../domain/search/Answer.ts"
import { type Capabilities, unsupportedReason } from "../../domain/search/Capabilities.ts"
import type { UpstreamRow } from "../../domain/search/Organic.ts"
import type { SearchRequest } from "../../domain/search/SearchRequest.ts"
import type { Target } from "../../domain/search/Target.ts"
import { type CallLimits, type Turn, unsharedTurn } from "./Turn.ts"

/** For calls that belong to no search of an account. */
export const defaultTurn: Turn = unsharedTurn(1_000)

/** A search provider, with its engine. */
export interface Provider {
  /** The name in the provider file, with the engine if there is one: `meta/google`. */
  readonly name: string
  /** Undefined if it supports all searches. */
  readonly capabilities?: Capabilities
  /** True for a built-in index without documents. Absent for other providers. */
  readonly isEmpty?: (target: Target) => Effect.Effect<boolean>
  /** True while documents are loaded into a built-in index. Absent for other providers. */
  readonly isLoading?: Effect.Effect<boolean>
  /** True if a search that ended then or later found it loading (Unix milliseconds). */
  readonly wasLoading?: (since: number) => boolean
  /** Without limits, a search is sent as soon as it is called. With them, each call waits for its turn. */
  readonly limits?: CallLimits
  /**
   * Returns rows `(page - 1) * num + 1` to `page * num` in rank order, or a few more, which ranking cuts (R13). The
   * provider must support the request (`unservedBy`).
   */
  readonly search: (request: SearchRequest, turn?: Turn) => Effect.Effect<ReadonlyArray<UpstreamRow>, Refusal>
}

/** Several providers that are asked at once, and whose results are merged (R63). */
export interface Fusion {
  readonly fuse: ReadonlyArray<Provider>
  /** The search waits `waitMs` for the others once this many have answered. With fewer answers, it fails. */
  readonly need: number
  readonly waitMs: number
}

/** One entry of a target's list. */
export type ProviderEntry = Provider | Fusion

export const membersOf = (entry: ProviderEntry): ReadonlyArray<Provider> => ("fuse" in entry ? entry.fuse : [entry])

/** The properties that an answer of these providers gets if its search began then. */
export const loadingMark = (providers: ReadonlyArray<Provider>, since: number): Pick<Answer, "isProvisional"> =>
  providers.some(({ wasLoading }) => wasLoading?.(since) === true) ? { isProvisional: true } : {}

/** Returns why a provider cannot serve a search; undefined if it can. */
export const unservedBy = ({ capabilities }: Provider, request: SearchRequest): string | undefined =>
  capabilities === undefined ? undefined : unsupportedReason(capabilities, request)
