import { toJson } from "../../domain/Capabilities.ts"
import type { ProviderState } from "../../services/ProviderStates.ts"

const time = (millis: number | undefined): string | null =>
  millis === undefined ? null : new Date(millis).toISOString()

/** A provider with its engine, as the private listener shows it. */
export const providerView = (it: ProviderState) => {
  const [provider, ...engine] = it.name.split("/")
  return {
    provider,
    engine: engine.length === 0 ? null : engine.join("/"),
    state: it.state,
    retry_at: time(it.retryAt),
    answers: it.answers,
    refusals: it.refusals,
    last_success_at: time(it.lastSuccessAt),
    last_refusal: it.lastRefusal === undefined ? null : { ...it.lastRefusal, at: time(it.lastRefusal.at) },
    latency_ms: it.latencyMs ?? null,
    serves: it.capabilities === undefined ? null : toJson(it.capabilities)
  }
}
