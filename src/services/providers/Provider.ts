import type { Effect } from "effect"
import type { Refusal } from "../../domain/providers/Refusal.ts"
import { type Capabilities, unsupportedReason } from "../../domain/search/Capabilities.ts"
import type { UpstreamRow } from "../../domain/search/Organic.ts"
import type { SearchRequest } from "../../domain/search/SearchRequest.ts"
import type { Target } from "../../domain/search/Target.ts"

/** The longest wait for a provider's call limit, unless the caller sets another. */
export const defaultQueueMs = 1_000

/** A search provider, with its engine. */
export interface Provider {
  /** The name in the provider file, with the engine if there is one: `meta/google`. */
  readonly name: string
  /** Undefined if it supports all searches. */
  readonly capabilities?: Capabilities
  /** True for a built-in index without documents. Absent for other providers. */
  readonly isEmpty?: (target: Target) => Effect.Effect<boolean>
  /**
   * Returns rows `(page - 1) * num + 1` to `page * num` in rank order, or a few more, which ranking cuts (R13). Each
   * call waits at most `maxQueueMs` for the call limit. The provider must support the request (`unservedBy`).
   */
  readonly search: (request: SearchRequest, maxQueueMs?: number) => Effect.Effect<ReadonlyArray<UpstreamRow>, Refusal>
}

/** Returns why a provider cannot serve a search; undefined if it can. */
export const unservedBy = ({ capabilities }: Provider, request: SearchRequest): string | undefined =>
  capabilities === undefined ? undefined : unsupportedReason(capabilities, request)

/** Splits a name into provider and engine. */
export const namesOf = ({
  name
}: {
  readonly name: string
}): { readonly provider: string; readonly engine: string | null } => {
  const [provider = "", ...engine] = name.split("/")
  return { provider, engine: engine.length === 0 ? null : engine.join("/") }
}
