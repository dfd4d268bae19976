import { ROOT_CONTEXT } from "@opentelemetry/api"
import { SamplingDecision, TraceIdRatioBasedSampler } from "@opentelemetry/sdk-trace-base"
import type { Sampling } from "./SpanTracer.ts"

export interface SamplingOptions {
  readonly sampler: string
  /** From 0 to 1. */
  readonly ratio: number
  readonly newTraceId: () => string
}

const rootOf = ({ ratio, sampler }: SamplingOptions): ((traceId: string) => boolean) => {
  if (sampler.endsWith("always_on")) return () => true
  if (sampler.endsWith("always_off")) return () => false
  const byRatio = new TraceIdRatioBasedSampler(ratio)
  return (traceId) => byRatio.shouldSample(ROOT_CONTEXT, traceId).decision === SamplingDecision.RECORD_AND_SAMPLED
}

/**
 * A caller's `traceparent` can prevent sampling but cannot raise the share above the ratio, which is therefore applied
 * to a new random id. Only `parentbased_always_off` leaves the decision to callers, for deployments that trust all of
 * them.
 */
export const samplingOf = (options: SamplingOptions): Sampling => {
  const { newTraceId, sampler } = options
  const root = rootOf(options)
  if (sampler === "parentbased_always_off") return (_traceId, caller) => caller?.sampled === true
  const heedsCaller = sampler.startsWith("parentbased_")
  return (traceId, caller) => {
    if (caller === undefined) return root(traceId)
    return !(heedsCaller && !caller.sampled) && root(newTraceId())
  }
}
