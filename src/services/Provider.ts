import type { Effect } from "effect"
import { type Capabilities, unsupportedReason } from "../domain/Capabilities.ts"
import type { UpstreamRow } from "../domain/Organic.ts"
import type { Refusal } from "../domain/Refusal.ts"
import type { SearchRequest } from "../domain/SearchRequest.ts"
import type { Target } from "../domain/Target.ts"

/** The longest that a call waits for its turn at a provider with limits, where the caller sets no other. */
export const defaultQueueMs = 1_000

/** A provider of a target, with the engine that it is asked for. */
export interface Provider {
  /** The name in the provider file, with the engine where there is one: `meta/google`. */
  readonly name: string
  /** Undefined where it can serve every search. */
  readonly capabilities?: Capabilities
  /** True while it has nothing to search in: the built-in index without documents. Absent in providers elsewhere. */
  readonly isEmpty?: (target: Target) => Effect.Effect<boolean>
  /**
   * The rows of the answered page in rank order: rows `(page - 1) * num + 1` to `page * num` of the upstream's list,
   * or a few more, which ranking cuts (R13). May be empty. Each call may wait `maxQueueMs` for its turn. Requires that
   * the provider can serve the request: see `unservedBy`.
   */
  readonly search: (request: SearchRequest, maxQueueMs?: number) => Effect.Effect<ReadonlyArray<UpstreamRow>, Refusal>
}

/** The reason for which a provider cannot serve a search; undefined when it can. */
export const unservedBy = ({ capabilities }: Provider, request: SearchRequest): string | undefined =>
  capabilities === undefined ? undefined : unsupportedReason(capabilities, request)

/** Splits a name into provider and engine. A provider's own name has no slash. */
export const namesOf = ({
  name
}: {
  readonly name: string
}): { readonly provider: string; readonly engine: string | null } => {
  const [provider = "", ...engine] = name.split("/")
  return { provider, engine: engine.length === 0 ? null : engine.join("/") }
}
