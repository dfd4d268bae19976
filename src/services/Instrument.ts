import { Clock, Context, Effect, Metric } from "effect"

/** What is measured, beside its name. `labels` name what tells its series apart, none of which a caller may choose. */
interface Definition<Labels extends ReadonlyArray<string>> {
  readonly description: string
  /** As UCUM writes it: `s`, `By`, `1` for a share, or what is counted in braces, as in `{credit}`. */
  readonly unit: string
  readonly labels: Labels
}

/** A value for each label, in their order. */
type Values<Labels extends ReadonlyArray<string>> = { readonly [K in keyof Labels]: string }

/** Something measured: one series for each set of label values. */
export interface Instrument<Labels extends ReadonlyArray<string>, M> {
  readonly of: (...values: Values<Labels>) => M
}

/** Far more than the labels in use come to; what goes beyond it is counted together, as OpenTelemetry's SDKs do. */
export const maxSeries = 2_000

const overflow = { "otel.metric.overflow": "true" }

/** Names as Prometheus writes them, by those of OpenTelemetry. Whatever is not in here keeps its name. */
const prometheusNames = new Map<string, string>()

const unitSuffixes: Readonly<Record<string, string>> = { s: "_seconds", By: "_bytes", "1": "_ratio" }

/** The same name that an OpenTelemetry collector gives it, so that one dashboard reads both. */
export const prometheusName = (name: string): string => prometheusNames.get(name) ?? name

interface MetricOptions {
  readonly description: string
  /** `unit` among them is Effect's way to tell the unit: it is shown as such, and not as a label. */
  readonly attributes: Readonly<Record<string, string>>
}

/**
 * Series are made once and kept: with `Metric.withAttributes` each update would build the key of its series anew, which
 * costs more than all else of it.
 */
const instrument = <const Labels extends ReadonlyArray<string>, M>(
  name: string,
  { description, labels, unit }: Definition<Labels>,
  kindSuffix: string,
  make: (options: MetricOptions) => M
): Instrument<Labels, M> => {
  prometheusNames.set(name, name.replaceAll(".", "_") + (unitSuffixes[unit] ?? "") + kindSuffix)
  const series = new Map<string, M>()
  let beyond: M | undefined
  return {
    of: (...values) => {
      const key = values.join("\n")
      const known = series.get(key)
      if (known !== undefined) return known
      if (series.size >= maxSeries) {
        beyond ??= make({ description, attributes: { ...overflow, unit } })
        return beyond
      }
      const attributes = Object.fromEntries(labels.map((label, index) => [label, values[index] ?? ""]))
      const made = make({ description, attributes: { ...attributes, unit } })
      series.set(key, made)
      return made
    }
  }
}

/** Counts what only grows. */
export const counter = <const Labels extends ReadonlyArray<string>>(name: string, definition: Definition<Labels>) =>
  instrument(name, definition, "_total", (options) => Metric.counter(name, { ...options, incremental: true }))

/** How much there is of something now. */
export const gauge = <const Labels extends ReadonlyArray<string>>(name: string, definition: Definition<Labels>) =>
  instrument(name, definition, "", (options) => Metric.gauge(name, options))

/** How values are spread, counted below each of `boundaries`. */
export const histogram = <const Labels extends ReadonlyArray<string>>(
  name: string,
  definition: Definition<Labels> & { readonly boundaries: ReadonlyArray<number> }
) =>
  instrument(name, definition, "", (options) =>
    Metric.histogram(name, { ...options, boundaries: definition.boundaries })
  )

/** Seconds, from a statement in memory to the longest batch. */
export const durationBoundaries = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30, 60
] as const

/** Shows in `series` what `read` answers whenever somebody looks, for as long as the scope is open. */
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
