import type { Effect } from "effect"
import { type Capabilities, unserved } from "../domain/Capabilities.ts"
import type { UpstreamRow } from "../domain/Organic.ts"
import type { Refusal } from "../domain/Refusal.ts"
import type { SearchRequest } from "../domain/SearchRequest.ts"

/** How long a call may wait for its turn when the operator bounds the calls to a provider and nobody says otherwise. */
export const defaultQueueMs = 1_000

/** One upstream behind one target: a provider with the engine it is asked for. */
export interface Provider {
  /** As in the provider file, with the engine when there is one: `meta/google`. */
  readonly name: string
  /** What it can serve; everything when undefined. */
  readonly capabilities?: Capabilities
  /**
   * The rows of the answered page in rank order: rows `(page - 1) * num + 1` to `page * num` of the upstream's list,
   * or a few more, which ranking cuts (R13). May be empty. Each call may wait `maxQueueMs` for its turn. Requires that
   * the provider can serve the request: see `unservedBy`.
   */
  readonly search: (request: SearchRequest, maxQueueMs?: number) => Effect.Effect<ReadonlyArray<UpstreamRow>, Refusal>
}

/** Why a provider cannot serve a search; undefined when it can. */
export const unservedBy = ({ capabilities }: Provider, request: SearchRequest): string | undefined =>
  capabilities === undefined ? undefined : unserved(capabilities, request)

/** The provider and the engine that it is asked for: a provider's own name has no slash. */
export const namesOf = ({
  name
}: {
  readonly name: string
}): { readonly provider: string; readonly engine: string | null } => {
  const [provider = "", ...engine] = name.split("/")
  return { provider, engine: engine.length === 0 ? null : engine.join("/") }
}
