import { assert, describe, it } from "@effect/vitest"
import { Effect, Metric } from "effect"
import { PrometheusMetrics } from "effect/observability"
import {
  counter,
  gauge,
  histogram,
  maxSeries,
  observe,
  prometheusName
} from "../../../src/services/telemetry/Instrument.ts"

const labels = ["target", "outcome"] as const
const searches = counter("test.searches", { description: "Searches", unit: "{search}", labels })
const duration = histogram("test.duration", { description: "Time", unit: "s", labels: [], boundaries: [0.1, 1] })
const memory = gauge("test.memory", { description: "Memory", unit: "By", labels: [] })
const share = gauge("test.share", { description: "Share", unit: "1", labels: [] })

const scraped = PrometheusMetrics.format({ metricNameMapper: prometheusName })

/** In a registry of the test's own. */
const isolated = Effect.provideServiceEffect(
  Metric.MetricRegistry,
  Effect.sync(() => new Map())
)

describe("Instrument", () => {
  it.effect("is named in Prometheus by its unit and kind, as a collector would name it", () =>
    Effect.gen(function* () {
      yield* Metric.update(searches.of("alpha_search", "ok"), 2)
      yield* Metric.update(duration.of(), 0.5)
      yield* Metric.update(memory.of(), 7)
      yield* Metric.update(share.of(), 0.5)
      const text = yield* scraped
      assert.include(text, `\ntest_searches_total{target="alpha_search",outcome="ok"} 2\n`)
      assert.include(text, `\ntest_duration_seconds_bucket{le="0.1"} 0\ntest_duration_seconds_bucket{le="1"} 1\n`)
      assert.include(text, "\ntest_memory_bytes 7\n")
      assert.include(text, "\ntest_share_ratio 0.5\n")
    }).pipe(isolated)
  )

  it.effect("leaves out a label whose value is empty, because it does not apply", () =>
    Effect.gen(function* () {
      yield* Metric.update(searches.of("beta_search", ""), 1)
      const [series] = yield* Metric.snapshot
      assert.deepStrictEqual(series?.attributes, { target: "beta_search", unit: "{search}" })
    }).pipe(isolated)
  )

  it("makes each series once", () => {
    assert.strictEqual(searches.of("alpha_search", "ok"), searches.of("alpha_search", "ok"))
    assert.notStrictEqual(searches.of("alpha_search", "ok"), searches.of("beta_search", "ok"))
  })

  it.effect("counts what goes beyond its bound together", () =>
    Effect.gen(function* () {
      const many = counter("test.many", { description: "Many", unit: "{thing}", labels: ["name"] })
      for (let n = 0; n < maxSeries + 10; n++) yield* Metric.update(many.of(`name ${n}`), 1)
      const series = (yield* Metric.snapshot).filter(({ id }) => id === "test.many")
      assert.strictEqual(series.length, maxSeries + 1)
      const text = yield* scraped
      assert.include(text, `\ntest_many_total{otel_metric_overflow="true"} 10\n`)
    }).pipe(isolated)
  )

  it.effect("observes what is true when somebody looks, until the scope closes", () =>
    Effect.gen(function* () {
      let value = 1
      const text = yield* Effect.scoped(
        Effect.gen(function* () {
          yield* observe(memory.of(), () => value)
          value = 2
          return yield* scraped
        })
      )
      assert.include(text, "\ntest_memory_bytes 2\n")
      assert.notInclude(yield* scraped, "test_memory_bytes")
    }).pipe(isolated)
  )
})
