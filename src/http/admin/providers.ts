import { toJson } from "../../domain/Capabilities.ts"
import { namesOf } from "../../services/Provider.ts"
import type { ProviderState } from "../../services/ProviderMonitor.ts"
import { toMomentOrNull } from "../wire.ts"

/** A provider with its engine, as the private listener shows it. */
export const providerView = (it: ProviderState) => ({
  ...namesOf(it),
  state: it.phase,
  retry_at: toMomentOrNull(it.retryAt),
  answers: it.answers,
  refusals: it.refusals,
  last_success_at: toMomentOrNull(it.lastSuccessAt),
  last_refusal: it.lastRefusal === undefined ? null : { ...it.lastRefusal, at: toMomentOrNull(it.lastRefusal.at) },
  latency_ms: it.latencyMs ?? null,
  serves: it.capabilities === undefined ? null : toJson(it.capabilities)
})
