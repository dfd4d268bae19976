import { assert, describe, it } from "@effect/vitest"
import { Effect, Metric } from "effect"
import { PrometheusMetrics } from "effect/observability"
import fc from "fast-check"
import { format, lasting, merge, parse } from "../../../src/http/admin/exposition.ts"
import { counter, gauge, histogram, prometheusName } from "../../../src/services/telemetry/Instrument.ts"

const labels = ["kind"] as const
const counted = counter("test.exposition.counted", { description: "Counts\\", unit: "{thing}", labels })
const measured = histogram("test.exposition.measured", {
  description: "Measures",
  unit: "s",
  labels,
  boundaries: [1, 5]
})
const open = gauge("test.exposition.open", { description: "Open", unit: "{thing}", labels, across: "sum" })
const well = gauge("test.exposition.well", { description: "Well", unit: "{thing}", labels, across: "least" })
const age = gauge("test.exposition.age", { description: "Age", unit: "s", labels })

interface Figures {
  readonly kind: string
  readonly counts: number
  readonly seconds: ReadonlyArray<number>
  readonly level: number
}

/** What a process with these figures gives to Prometheus. */
const textOf = (all: ReadonlyArray<Figures>) =>
  Effect.gen(function* () {
    for (const { counts, kind, level, seconds } of all) {
      yield* Metric.update(counted.of(kind), counts)
      yield* Effect.forEach(seconds, (value) => Metric.update(measured.of(kind), value))
      yield* Effect.forEach([open, well, age], (it) => Metric.update(it.of(kind), level))
    }
    return yield* PrometheusMetrics.format({ metricNameMapper: prometheusName })
  }).pipe(Effect.provideService(Metric.MetricRegistry, new Map()), Effect.runSync)

const figures = fc.uniqueArray(
  fc.record({
    // With what a label may hold that looks like syntax.
    kind: fc.constantFrom("a", 'b} 7 "x"', "c\\", "d # TYPE e gauge"),
    counts: fc.nat(),
    seconds: fc.array(fc.integer({ min: 0, max: 9 })),
    level: fc.integer({ min: -5, max: 5 })
  }),
  { selector: ({ kind }) => kind }
)

describe("metrics of several processes", () => {
  it("read and written again are the same text", () => {
    fc.assert(
      fc.property(figures, (one) => {
        const text = textOf(one)
        assert.strictEqual(format(parse(text)), text)
      })
    )
  })

  it("add up: counters and histograms are those of one process that did it all", () => {
    fc.assert(
      fc.property(fc.array(figures, { maxLength: 4 }), (all) => {
        const merged = merge(all.map((one) => parse(textOf(one))))
        const together = new Map<string, { counts: number; seconds: Array<number> }>()
        for (const { counts, kind, seconds } of all.flat()) {
          const before = together.get(kind) ?? { counts: 0, seconds: [] }
          together.set(kind, { counts: before.counts + counts, seconds: [...before.seconds, ...seconds] })
        }
        const one = parse(textOf(Array.from(together, ([kind, sums]) => ({ kind, level: 0, ...sums }))))
        assert.deepStrictEqual(samplesOf(lasting(merged)), samplesOf(lasting(one)))
      })
    )
  })

  it("gauges are added, the least or the greatest, as they are defined", () => {
    const [one, other] = [2, 5].map((level) => parse(textOf([{ kind: "a", counts: 0, seconds: [], level }])))
    const samples = samplesOf(merge([one ?? new Map(), other ?? new Map()]))
    assert.deepInclude(samples, {
      'test_exposition_open{kind="a"}': 7,
      'test_exposition_well{kind="a"}': 2,
      'test_exposition_age_seconds{kind="a"}': 5
    })
  })

  it("of a process that has ended no gauge stays", () => {
    const text = textOf([{ kind: "a", counts: 1, seconds: [1], level: 3 }])
    const kept = lasting(parse(text))
    assert.deepStrictEqual(
      Array.from(kept.values(), ({ type }) => type),
      ["counter", "histogram"]
    )
  })
})

const samplesOf = (metrics: ReturnType<typeof parse>): Readonly<Record<string, number>> =>
  Object.fromEntries(
    Array.from(metrics.values())
      .flatMap(({ samples }) => [...samples])
      .sort(([one], [other]) => one.localeCompare(other))
  )
