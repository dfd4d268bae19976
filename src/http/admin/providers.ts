import { toJson } from "../../domain/search/Capabilities.ts"
import { namesOf } from "../../services/providers/Provider.ts"
import type { ProviderState } from "../../services/providers/ProviderMonitor.ts"
import { toMomentOrNull } from "../timestamps.ts"

export const providerView = (state: ProviderState) => ({
  ...namesOf(state),
  state: state.phase,
  retry_at: toMomentOrNull(state.retryAt),
  answers: state.answers,
  refusals: state.refusals,
  last_success_at: toMomentOrNull(state.lastSuccessAt),
  last_refusal:
    state.lastRefusal === undefined ? null : { ...state.lastRefusal, at: toMomentOrNull(state.lastRefusal.at) },
  latency_ms: state.latencyMs ?? null,
  serves: state.capabilities === undefined ? null : toJson(state.capabilities)
})
