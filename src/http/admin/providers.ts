import type { Effect } from "effect"
import { namesOf } from "../../domain/providers/providerNames.ts"
import { toMomentOrNull } from "../../domain/requests/fields.ts"
import { toJson } from "../../domain/search/Capabilities.ts"
import type { ProviderStates } from "../../services/providers/ProviderStates.ts"
import type { RerankState } from "../../services/providers/Reranker.ts"

/** The view of a target's reranker. */
export const rerankerView = ({ lastRefusal, lastSuccessAt, phase, retryAt, timeoutMs, ...state }: RerankState) => ({
  target: state.target,
  type: state.type,
  top: state.top,
  timeout_ms: timeoutMs,
  state: phase,
  retry_at: toMomentOrNull(retryAt),
  answers: state.answers,
  refusals: state.refusals,
  last_success_at: toMomentOrNull(lastSuccessAt),
  last_refusal: lastRefusal === undefined ? null : { ...lastRefusal, at: toMomentOrNull(lastRefusal.at) }
})

type Report = Effect.Success<ProviderStates["Service"]["reports"]>[number]

export const providerView = ({ isLoading, state }: Report) => ({
  ...namesOf(state),
  state: state.phase,
  retry_at: toMomentOrNull(state.retryAt),
  answers: state.answers,
  refusals: state.refusals,
  last_success_at: toMomentOrNull(state.lastSuccessAt),
  last_refusal:
    state.lastRefusal === undefined ? null : { ...state.lastRefusal, at: toMomentOrNull(state.lastRefusal.at) },
  latency_ms: state.latencyMs ?? null,
  serves: state.capabilities === undefined ? null : toJson(state.capabilities),
  loading: isLoading ?? null
})
