import { Effect, Layer, References } from "effect"
import { AppConfig } from "../Config.ts"

/**
 * Spans, metrics and logs to an OpenTelemetry collector, where one is named; otherwise no span is made and nothing of
 * OpenTelemetry is loaded.
 */
export const layer: Layer.Layer<never, never, AppConfig> = Layer.unwrap(
  Effect.gen(function* () {
    const config = yield* AppConfig
    const endpoints = [
      config.otelExporterOtlpEndpoint,
      config.otelExporterOtlpTracesEndpoint,
      config.otelExporterOtlpMetricsEndpoint,
      config.otelExporterOtlpLogsEndpoint
    ]
    if (config.otelSdkDisabled || endpoints.every((endpoint) => endpoint === undefined)) {
      return Layer.succeed(References.TracerEnabled, false)
    }
    const OpenTelemetry = yield* Effect.promise(() => import("./OpenTelemetry.ts"))
    return OpenTelemetry.layer(config)
  })
)
