import { randomUUID } from "node:crypto"
import * as OtelLogger from "@effect/opentelemetry/OtelLogger"
import * as OtelMetrics from "@effect/opentelemetry/OtelMetrics"
import { configToAttributes, Resource } from "@effect/opentelemetry/Resource"
import { type Counter, createNoopMeter, type Meter, type MeterProvider } from "@opentelemetry/api"
import { OTLPLogExporter } from "@opentelemetry/exporter-logs-otlp-proto"
import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-proto"
import { convertLegacyHttpOptions, createOtlpHttpExportDelegate } from "@opentelemetry/otlp-exporter-base/node-http"
import { resourceFromAttributes } from "@opentelemetry/resources"
import { BatchLogRecordProcessor } from "@opentelemetry/sdk-logs"
import { PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics"
import { Context, Effect, Layer, Redacted, References, Tracer } from "effect"
import { version } from "../../domain/version.ts"
import { counter } from "../../services/telemetry/Instrument.ts"
import type { AppConfig } from "../../settings/Settings.ts"
import { KeepAliveAgent } from "../outgoing/KeepAliveAgent.ts"
import { samplingOf } from "./spans/Sampling.ts"
import * as SpanQueue from "./spans/SpanQueue.ts"
import * as SpanTracer from "./spans/SpanTracer.ts"

type Settings = AppConfig["Service"]
type Signal = "traces" | "metrics" | "logs"

/** Per signal. All layers below the listener share five seconds. */
const shutdownTimeoutMs = 1_500

/** For the collector's response to an export. Real responses have a few bytes. */
const maxReceivedBytes = 256 * 1024

const dropped = counter("quarry.telemetry.dropped", {
  description: "Spans and log records that were not exported, by signal and reason",
  unit: "{item}",
  labels: ["signal", "reason"]
})

type Log = (effect: Effect.Effect<void>) => void

const countLosses = (signal: Signal, log: Log) => {
  let away = false
  const counts = { queue_full: dropped.of(signal, "queue_full"), export_failed: dropped.of(signal, "export_failed") }
  // Exports a zero first, because alerts see no increase in the first value of a new counter.
  for (const metric of Object.values(counts)) metric.updateUnsafe(0, Context.empty())
  const setAway = (isAway: boolean) => {
    if (away === isAway) return
    away = isAway
    log(
      away
        ? Effect.logWarning(
            `The OpenTelemetry collector does not accept ${signal}. They are dropped and counted until it does`
          )
        : Effect.logInfo(`The OpenTelemetry collector accepts ${signal} again`)
    )
  }
  return {
    onSent: () => setAway(false),
    onLost: (reason: keyof typeof counts, count: number) => {
      counts[reason].updateUnsafe(count, Context.empty())
      setAway(true)
    }
  }
}

const lossMeterProvider = (signal: Signal, log: Log): MeterProvider => {
  const { onLost, onSent } = countLosses(signal, log)
  const losses: Counter = {
    add: (count, attributes) => {
      const reason = attributes?.["error.type"]
      if (reason === undefined) onSent()
      else onLost(reason === "queue_full" ? "queue_full" : "export_failed", count)
    }
  }
  const noop = createNoopMeter()
  const meter: Meter = Object.assign(Object.create(noop), {
    createCounter: (name: string) => (name === "otel.sdk.processor.log.processed" ? losses : noop.createCounter(name))
  })
  return { getMeter: () => meter }
}

interface Destination {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly httpAgentOptions: () => KeepAliveAgent
}

/** The shared endpoint is a base URL; the endpoint of one signal is complete. */
const destinationOf = (signal: Signal, config: Settings): Destination | undefined => {
  const { endpoint, exporter, headers } = {
    traces: {
      exporter: config.otelTracesExporter,
      endpoint: config.otelExporterOtlpTracesEndpoint,
      headers: config.otelExporterOtlpTracesHeaders
    },
    metrics: {
      exporter: config.otelMetricsExporter,
      endpoint: config.otelExporterOtlpMetricsEndpoint,
      headers: config.otelExporterOtlpMetricsHeaders
    },
    logs: {
      exporter: config.otelLogsExporter,
      endpoint: config.otelExporterOtlpLogsEndpoint,
      headers: config.otelExporterOtlpLogsHeaders
    }
  }[signal]
  const base = config.otelExporterOtlpEndpoint
  const address = endpoint ?? base
  if (exporter === "none" || address === undefined) return undefined
  const shared = config.otelExporterOtlpHeaders
  const url =
    address === endpoint ? Redacted.value(address) : `${Redacted.value(address).replace(/\/+$/, "")}/v1/${signal}`
  const agent = new KeepAliveAgent(new URL(url).protocol, {
    maxReceivedBytes,
    timeoutMs: config.otelExporterOtlpTimeout
  })
  return {
    url,
    headers: { ...(shared && Redacted.value(shared)), ...(headers && Redacted.value(headers)) },
    httpAgentOptions: () => agent
  }
}

const exporterOptions = (destination: Destination, config: Settings) => ({
  ...destination,
  timeoutMillis: config.otelExporterOtlpTimeout,
  // The setting has the same two values as the library's enum, which the exporters do not export.
  compression: config.otelExporterOtlpCompression as never
})

/** The losses of an unreachable collector are already counted. */
const ignoringFailures = <P extends { forceFlush(): Promise<void>; shutdown(): Promise<void> }>(part: P): P => {
  const [forceFlush, shutdown] = [part.forceFlush.bind(part), part.shutdown.bind(part)]
  return Object.assign(part, {
    forceFlush: () => forceFlush().catch(() => undefined),
    shutdown: () => shutdown().catch(() => undefined)
  })
}

const spanExporter = (to: Destination, config: Settings) => {
  const options = convertLegacyHttpOptions(exporterOptions(to, config), "TRACES", "v1/traces", {
    "Content-Type": "application/x-protobuf"
  })
  const serializer = {
    serializeRequest: ({ request }: SpanQueue.SpanBatch) => request,
    deserializeResponse: () => ({})
  }
  const counting = { name: "span" as const, countItems: ({ count }: SpanQueue.SpanBatch) => count }
  const delegate = createOtlpHttpExportDelegate(options, serializer, "otlp_http_span_exporter", counting, undefined)
  return (batch: SpanQueue.SpanBatch) =>
    Effect.callback<void, Error>((resume) =>
      delegate.export(batch, ({ error }) => resume(error === undefined ? Effect.void : Effect.fail(error)))
    )
}

const traces = (to: Destination, config: Settings, log: Log) =>
  Layer.effect(
    Tracer.Tracer,
    Effect.gen(function* () {
      const { attributes } = yield* Resource
      const onEnd = yield* SpanQueue.make({
        resource: attributes,
        maxQueueSize: config.otelBspMaxQueueSize,
        maxBatchSize: Math.min(config.otelBspMaxExportBatchSize, config.otelBspMaxQueueSize),
        delayMs: config.otelBspScheduleDelay,
        timeoutMs: config.otelBspExportTimeout,
        shutdownTimeoutMs,
        send: spanExporter(to, config),
        ...countLosses("traces", log)
      })
      const sampling = samplingOf({
        sampler: config.otelTracesSampler,
        ratio: config.otelTracesSamplerArg,
        newTraceId: SpanTracer.newTraceId
      })
      return SpanTracer.make({ sampling, onEnd })
    })
  )

const metricReader = (to: Destination, config: Settings) =>
  ignoringFailures(
    new PeriodicExportingMetricReader({
      exporter: new OTLPMetricExporter(exporterOptions(to, config)),
      exportIntervalMillis: config.otelMetricExportInterval,
      exportTimeoutMillis: Math.min(config.otelExporterOtlpTimeout, config.otelMetricExportInterval)
    })
  )

const logProcessor = (to: Destination, config: Settings, log: Log) =>
  ignoringFailures(
    new BatchLogRecordProcessor({
      exporter: new OTLPLogExporter(exporterOptions(to, config)),
      selfObsMeterProvider: lossMeterProvider("logs", log)
    })
  )

/** Each process has its own id, to keep the data of replicas apart. */
const resource = ({ otelResourceAttributes, otelServiceName }: Settings) =>
  Layer.sync(Resource, () =>
    resourceFromAttributes(
      configToAttributes({
        serviceName: otelServiceName,
        serviceVersion: version,
        attributes: { "service.instance.id": randomUUID(), ...otelResourceAttributes }
      })
    )
  )

const options = { shutdownTimeout: shutdownTimeoutMs }

export const layer = (config: Settings): Layer.Layer<never> =>
  Layer.unwrap(
    Effect.gen(function* () {
      const fork = Effect.runForkWith(yield* Effect.context<never>())
      const log: Log = (effect) => void fork(effect)
      const [spans, metrics, logs] = (["traces", "metrics", "logs"] as const).map((signal) =>
        destinationOf(signal, config)
      )
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
