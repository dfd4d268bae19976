import { Clock, Context, Effect, Metric } from "effect"

/** The definition of a metric. No label may have values that callers choose, because each value makes a series. */
interface Definition<Labels extends ReadonlyArray<string>> {
  readonly description: string
  /** A unit of UCUM: `s`, `By`, `1` for a ratio, or the counted thing in braces: `{credit}`. */
  readonly unit: string
  readonly labels: Labels
}

/** A value for each label, in their order. An empty one leaves the label out. */
type Values<Labels extends ReadonlyArray<string>> = { readonly [K in keyof Labels]: string }

/** A metric with labels: one series for each set of label values. */
export interface Instrument<Labels extends ReadonlyArray<string>, M> {
  readonly of: (...values: Values<Labels>) => M
}

/** The most series of a metric, far above those in use. Further ones share one series, as in OpenTelemetry's SDKs. */
export const maxSeries = 2_000

const overflow = { "otel.metric.overflow": "true" }

/** Prometheus names by OpenTelemetry names. */
const prometheusNames = new Map<string, string>()

const unitSuffixes: Readonly<Record<string, string>> = { s: "_seconds", By: "_bytes", "1": "_ratio" }

/** The name that an OpenTelemetry collector exports to Prometheus, so that one dashboard fits both ways of scraping. */
export const prometheusName = (name: string): string => prometheusNames.get(name) ?? name

interface MetricOptions {
  readonly description: string
  /** The labels, and `unit`, which Effect exports as the metric's unit and not as a label. */
  readonly attributes: Readonly<Record<string, string>>
}

/**
 * Makes a metric that caches its series by label values. `Metric.withAttributes` would build the key of the series at
 * each update, which costs more than the rest of the update.
 */
const instrument = <const Labels extends ReadonlyArray<string>, M>(
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
      // OpenTelemetry leaves out an attribute that does not apply; to Prometheus an empty label and none are the same.
      const attributes = Object.fromEntries(
        labels.flatMap((label, index) => (values[index] ? [[label, values[index]]] : []))
      )
      const metric = make({ description, attributes: { ...attributes, unit } })
      series.set(key, metric)
      return metric
    }
  }
}

/** A monotonic counter. */
export const counter = <const Labels extends ReadonlyArray<string>>(name: string, definition: Definition<Labels>) =>
  instrument(name, definition, "_total", (options) => Metric.counter(name, { ...options, incremental: true }))

/** The value of a gauge over several processes: the sum, the least, or where nothing is said the greatest. */
type Across = "sum" | "least"

const across = new Map<string, Across>()

/** The rule by which the values of several processes make one, by the Prometheus name of a gauge. */
export const acrossProcesses = (name: string): Across | undefined => across.get(name)

/** A gauge: a value that rises and falls. */
export const gauge = <const Labels extends ReadonlyArray<string>>(
  name: string,
  definition: Definition<Labels> & { readonly across?: Across }
) => {
  const made = instrument(name, definition, "", (options) => Metric.gauge(name, options))
  if (definition.across !== undefined) across.set(prometheusName(name), definition.across)
  return made
}

/** A histogram with buckets at `boundaries`. */
export const histogram = <const Labels extends ReadonlyArray<string>>(
  name: string,
  definition: Definition<Labels> & { readonly boundaries: ReadonlyArray<number> }
) =>
  instrument(name, definition, "", (options) =>
    Metric.histogram(name, { ...options, boundaries: definition.boundaries })
  )

/** Buckets in seconds, from the shortest database statement to the longest batch. */
export const durationBoundaries = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30, 60
] as const

/** Registers a callback for the gauge's value, which each export calls, until the scope closes. */
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

/** Seconds since `startNanos` of the clock. */
export const secondsSince = (startNanos: bigint): Effect.Effect<number> =>
  Effect.map(Clock.currentTimeNanos, (now) => Number(now - startNanos) / 1e9)
