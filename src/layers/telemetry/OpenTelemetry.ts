import * as NodeSdk from "@effect/opentelemetry/NodeSdk"
import * as OtelLogger from "@effect/opentelemetry/OtelLogger"
import * as OtelMetrics from "@effect/opentelemetry/OtelMetrics"
import { OtelTracerProvider } from "@effect/opentelemetry/OtelTracer"
import { configToAttributes, Resource } from "@effect/opentelemetry/Resource"
import { type Counter, createNoopMeter, type Meter, type MeterProvider, TraceFlags } from "@opentelemetry/api"
import { OTLPLogExporter } from "@opentelemetry/exporter-logs-otlp-proto"
import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-proto"
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto"
import { resourceFromAttributes } from "@opentelemetry/resources"
import { BatchLogRecordProcessor } from "@opentelemetry/sdk-logs"
import { PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics"
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  SamplingDecision,
  TraceIdRatioBasedSampler
} from "@opentelemetry/sdk-trace-base"
import { Context, Effect, Layer, Metric, Redacted, References, Tracer } from "effect"
import type { AppConfig } from "../Config.ts"
import * as SpanTracer from "./SpanTracer.ts"

type Settings = AppConfig["Service"]
type Signal = "traces" | "metrics" | "logs"

/** What a shutdown waits for each signal at most; the layers below the listener have five seconds altogether. */
const shutdownTimeoutMs = 1_500

/** As many as a batch of the ledger carries requests. */
const maxLinks = 256
const maxAttributeChars = 1_024

const dropped = Metric.counter("quarry.telemetry.dropped.total", {
  description: "Spans and log records that were not exported, by signal and reason",
  incremental: true
})

type Log = (effect: Effect.Effect<void>) => void

/**
 * Of all that the SDK tells of itself only what was lost: counted where all other metrics are, and said once, until the
 * collector takes something again.
 */
const countingLosses = (signal: Signal, log: Log): MeterProvider => {
  let away = false
  const lost = (reason: string) => Metric.withAttributes(dropped, { signal, reason })
  const [queueFull, exportFailed] = [lost("queue_full"), lost("export_failed")]
  const counter: Counter = {
    add: (value, attributes) => {
      const reason = attributes?.["error.type"]
      if (reason === "queue_full") return queueFull.updateUnsafe(value, Context.empty())
      if (reason !== undefined) exportFailed.updateUnsafe(value, Context.empty())
      if (away === (reason !== undefined)) return
      away = !away
      log(
        away
          ? Effect.logWarning(`The collector takes no ${signal}: they are dropped and counted until it does`)
          : Effect.logInfo(`The collector takes ${signal} again`)
      )
    }
  }
  const processed = /^otel\.sdk\.processor\.(span|log)\.processed$/
  const noop = createNoopMeter()
  const meter: Meter = Object.assign(Object.create(noop), {
    createCounter: (name: string) => (processed.test(name) ? counter : noop.createCounter(name))
  })
  return { getMeter: () => meter }
}

/** Where a signal goes; undefined when it goes nowhere. An endpoint for all signals is a base, one signal's own is not. */
const endpointOf = (signal: Signal, config: Settings): string | undefined => {
  const { exporter, own } = {
    traces: { exporter: config.otelTracesExporter, own: config.otelExporterOtlpTracesEndpoint },
    metrics: { exporter: config.otelMetricsExporter, own: config.otelExporterOtlpMetricsEndpoint },
    logs: { exporter: config.otelLogsExporter, own: config.otelExporterOtlpLogsEndpoint }
  }[signal]
  if (exporter === "none") return undefined
  if (own !== undefined) return Redacted.value(own)
  const base = config.otelExporterOtlpEndpoint
  return base === undefined ? undefined : `${Redacted.value(base).replace(/\/+$/, "")}/v1/${signal}`
}

const exporterOptions = (url: string, config: Settings) => ({
  url,
  headers: config.otelExporterOtlpHeaders === undefined ? {} : Redacted.value(config.otelExporterOtlpHeaders),
  timeoutMillis: config.otelExporterOtlpTimeout,
  // The library's enumeration has these two values and is not exported by the exporters.
  compression: config.otelExporterOtlpCompression as never
})

const rootSampler = ({ otelTracesSampler, otelTracesSamplerArg }: Settings): Sampler => {
  if (otelTracesSampler.endsWith("always_on")) return new AlwaysOnSampler()
  if (otelTracesSampler.endsWith("always_off")) return new AlwaysOffSampler()
  return new TraceIdRatioBasedSampler(otelTracesSamplerArg)
}

/**
 * Work that was done for several requests is a trace of its own, linked to theirs. It is kept when one of them is, or
 * the links would lead nowhere.
 */
const followingLinks = (sampler: Sampler): Sampler => ({
  shouldSample: (context, traceId, name, kind, attributes, links) => {
    if (links.length === 0) return sampler.shouldSample(context, traceId, name, kind, attributes, links)
    const wanted = links.some((link) => (link.context.traceFlags & TraceFlags.SAMPLED) !== 0)
    return { decision: wanted ? SamplingDecision.RECORD_AND_SAMPLED : SamplingDecision.NOT_RECORD }
  },
  toString: () => `FollowingLinks{${sampler}}`
})

const samplerOf = (config: Settings): Sampler => {
  const root = followingLinks(rootSampler(config))
  return config.otelTracesSampler.startsWith("parentbased_") ? new ParentBasedSampler({ root }) : root
}

/** A collector that is away as the process ends is no failure of the process. What it did not take has been counted. */
const forgiving = <P extends { forceFlush(): Promise<void>; shutdown(): Promise<void> }>(part: P): P => {
  const [forceFlush, shutdown] = [part.forceFlush.bind(part), part.shutdown.bind(part)]
  return Object.assign(part, {
    forceFlush: () => forceFlush().catch(() => undefined),
    shutdown: () => shutdown().catch(() => undefined)
  })
}

const spanProcessor = (url: string, config: Settings, log: Log) => {
  // Apart from the call: the package's types forget the last option, which its code hands on.
  const options = {
    scheduledDelayMillis: config.otelBspScheduleDelay,
    exportTimeoutMillis: config.otelBspExportTimeout,
    maxQueueSize: config.otelBspMaxQueueSize,
    maxExportBatchSize: Math.min(config.otelBspMaxExportBatchSize, config.otelBspMaxQueueSize),
    selfObsMeterProvider: countingLosses("traces", log)
  }
  return forgiving(new BatchSpanProcessor(new OTLPTraceExporter(exporterOptions(url, config)), options))
}

const traces = (url: string, config: Settings, log: Log) =>
  Layer.effect(
    Tracer.Tracer,
    Effect.map(OtelTracerProvider, (provider) => SpanTracer.make(provider.getTracer("quarry")))
  ).pipe(
    Layer.provide(
      NodeSdk.layerTracerProvider(spanProcessor(url, config, log), {
        sampler: samplerOf(config),
        spanLimits: { linkCountLimit: maxLinks, attributeValueLengthLimit: maxAttributeChars },
        shutdownTimeout: shutdownTimeoutMs
      })
    )
  )

const metricReader = (url: string, config: Settings) =>
  forgiving(
    new PeriodicExportingMetricReader({
      exporter: new OTLPMetricExporter(exporterOptions(url, config)),
      exportIntervalMillis: config.otelMetricExportInterval,
      exportTimeoutMillis: Math.min(config.otelExporterOtlpTimeout, config.otelMetricExportInterval)
    })
  )

const logProcessor = (url: string, config: Settings, log: Log) =>
  forgiving(
    new BatchLogRecordProcessor({
      exporter: new OTLPLogExporter(exporterOptions(url, config)),
      selfObsMeterProvider: countingLosses("logs", log)
    })
  )

const resource = ({ otelResourceAttributes, otelServiceName }: Settings) =>
  Layer.succeed(
    Resource,
    resourceFromAttributes(
      configToAttributes({ serviceName: otelServiceName, attributes: otelResourceAttributes ?? {} })
    )
  )

const options = { shutdownTimeout: shutdownTimeoutMs }

/** The signals that have an endpoint. */
export const layer = (config: Settings): Layer.Layer<never> =>
  Layer.unwrap(
    Effect.gen(function* () {
      const fork = Effect.runForkWith(yield* Effect.context<never>())
      const log: Log = (effect) => void fork(effect)
      const [spans, metrics, logs] = (["traces", "metrics", "logs"] as const).map((it) => endpointOf(it, config))
      return Layer.mergeAll(
        spans === undefined ? Layer.succeed(References.TracerEnabled, false) : traces(spans, config, log),
        metrics === undefined ? Layer.empty : OtelMetrics.layer(() => metricReader(metrics, config), options),
        logs === undefined
          ? Layer.empty
          : Layer.provide(
              OtelLogger.layer({}),
              OtelLogger.layerLoggerProvider(logProcessor(logs, config, log), options)
            )
      ).pipe(Layer.provide(resource(config)))
    })
  )
