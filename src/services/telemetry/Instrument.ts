import { Clock, Context, Effect, Metric } from "effect"

/** The definition of a metric. Callers must not be able to choose label values, because each value creates a series. */
interface Definition<Labels extends ReadonlyArray<string>> {
  readonly description: string
  /** A UCUM unit: `s`, `By`, `1` for a ratio, or the counted noun in braces: `{credit}`. */
  readonly unit: string
  /** None by default. */
  readonly labels?: Labels
}

/** One value per label. An empty value omits the label. */
type Values<Labels extends ReadonlyArray<string>> = { readonly [K in keyof Labels]: string }

export interface Instrument<Labels extends ReadonlyArray<string>, M> {
  readonly of: (...values: Values<Labels>) => M
}

/** Limits the series of a metric. Further label values share one series, as in OpenTelemetry's SDKs. */
export const maxSeries = 2_000

const overflow = { "otel.metric.overflow": "true" }

const prometheusNames = new Map<string, string>()

const unitSuffixes: Readonly<Record<string, string>> = { s: "_seconds", By: "_bytes", "1": "_ratio" }

/** As an OpenTelemetry collector exports it, so that dashboards work for both ways of scraping. */
export const prometheusName = (name: string): string => prometheusNames.get(name) ?? name

interface MetricOptions {
  readonly description: string
  /** The labels, and `unit`, which Effect exports as the metric's unit. */
  readonly attributes: Readonly<Record<string, string>>
}

/**
 * Caches series by label values: `Metric.withAttributes` would rebuild the key for each update, which costs more than
 * the update.
 */
const instrument = <Labels extends ReadonlyArray<string>, M>(
  name: string,
  { description, labels, unit }: Definition<Labels>,
  kindSuffix: string,
  make: (options: MetricOptions) => M
): Instrument<Labels, M> => {
  prometheusNames.set(name, name.replaceAll(".", "_") + (unitSuffixes[unit] ?? "") + kindSuffix)
  const series = new Map<string, M>()
  let overflowSeries: M | undefined
  return {
    of: (...values) => {
      const key = values.join("\n")
      const existing = series.get(key)
      if (existing !== undefined) return existing
      if (series.size >= maxSeries) {
        overflowSeries ??= make({ description, attributes: { ...overflow, unit } })
        return overflowSeries
      }
      // OpenTelemetry omits attributes that do not apply. For Prometheus, an empty label equals none.
      const attributes = Object.fromEntries(
        (labels ?? []).flatMap((label, index) => (values[index] ? [[label, values[index]]] : []))
      )
      const metric = make({ description, attributes: { ...attributes, unit } })
      series.set(key, metric)
      return metric
    }
  }
}

export const counter = <const Labels extends ReadonlyArray<string> = readonly []>(
  name: string,
  definition: Definition<Labels>
) => instrument(name, definition, "_total", (options) => Metric.counter(name, { ...options, incremental: true }))

/** The aggregation of a gauge over processes; the maximum by default. */
type Across = "sum" | "least"

const across = new Map<string, Across>()

/** The aggregation of a gauge over processes, by its Prometheus name. */
export const acrossProcesses = (name: string): Across | undefined => across.get(name)

export const gauge = <const Labels extends ReadonlyArray<string> = readonly []>(
  name: string,
  definition: Definition<Labels> & { readonly across?: Across }
) => {
  const made = instrument(name, definition, "", (options) => Metric.gauge(name, options))
  if (definition.across !== undefined) across.set(prometheusName(name), definition.across)
  return made
}

/** In seconds, from the shortest database statement to the longest batch. */
const durationBoundaries = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30, 60]

/** Has the boundaries of durations by default. */
export const histogram = <const Labels extends ReadonlyArray<string> = readonly []>(
  name: string,
  definition: Definition<Labels> & { readonly boundaries?: ReadonlyArray<number> }
) =>
  instrument(name, definition, "", (options) =>
    Metric.histogram(name, { ...options, boundaries: definition.boundaries ?? durationBoundaries })
  )

/** Registers a callback that each export calls for the gauge's value, until the scope closes. */
export const observe = (series: Metric.Gauge<number>, read: (nowMs: number) => number) =>
  Effect.acquireRelease(
    Effect.map(Effect.context(), (context) =>
      Metric.registerUnsafe(series, context, {
        get: (reader) => ({ value: read(Context.get(reader, Clock.Clock).currentTimeMillisUnsafe()) }),
        update: () => undefined,
        modify: () => undefined
      })
    ),
    (registration) => Effect.sync(() => registration.remove())
  )

export const secondsSince = (startNanos: bigint): Effect.Effect<number> =>
  Effect.map(Clock.currentTimeNanos, (now) => Number(now - startNanos) / 1e9)
