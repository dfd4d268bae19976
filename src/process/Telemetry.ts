import { Effect, Layer, References } from "effect"
import { TraceQueryText } from "../services/telemetry/Tracing.ts"
import { AppConfig } from "../settings/Settings.ts"

/** Without a collector there are no spans, and the SDK is not loaded. */
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
    const OpenTelemetry = yield* Effect.promise(() => import("../layers/telemetry/OpenTelemetry.ts"))
    return Layer.merge(OpenTelemetry.layer(config), Layer.succeed(TraceQueryText, config.traceQueryText))
  })
)
