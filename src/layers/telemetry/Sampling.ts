import { ROOT_CONTEXT } from "@opentelemetry/api"
import { SamplingDecision, TraceIdRatioBasedSampler } from "@opentelemetry/sdk-trace-base"
import type { Sampling } from "./SpanTracer.ts"

export interface SamplingOptions {
  /** A sampler by OpenTelemetry's names. */
  readonly sampler: string
  /** The share of traces to keep, from 0 to 1. */
  readonly ratio: number
  /** Makes a random trace id. */
  readonly newTraceId: () => string
}

/** Decides by the trace id alone. */
const rootOf = ({ ratio, sampler }: SamplingOptions): ((traceId: string) => boolean) => {
  if (sampler.endsWith("always_on")) return () => true
  if (sampler.endsWith("always_off")) return () => false
  const byRatio = new TraceIdRatioBasedSampler(ratio)
  return (traceId) => byRatio.shouldSample(ROOT_CONTEXT, traceId).decision === SamplingDecision.RECORD_AND_SAMPLED
}

/**
 * The sampling of a deployment. Callers are strangers: their `traceparent` may keep a trace from being sampled, and may not
 * raise the share of sampled traces above the ratio. The ratio therefore goes by a new random id in place of the caller's,
 * which the caller could choose so that it is always sampled. `parentbased_always_off` alone leaves the decision to
 * callers, for a deployment that trusts all of them.
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
