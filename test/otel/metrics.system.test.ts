import { assert, it } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import "../../src/http/responses/metrics.ts"
import "../../src/layers/telemetry/OpenTelemetry.ts"
import "../../src/layers/telemetry/FileDescriptors.ts"
import "../../src/layers/telemetry/ProcessMetrics.ts"
import { prometheusName } from "../../src/services/telemetry/Instrument.ts"
import "../../src/services/telemetry/Metrics.ts"
import { fakePolar } from "../support/polar/FakePolar.ts"
import { promtool } from "../support/processes/OperatorTool.ts"
import * as Collector from "../support/servers/Collector.ts"
import { describeWithRedis } from "../support/servers/RedisServer.ts"
import { describeWithPostgres } from "../support/stores/Postgres.ts"
import * as Replica from "./Replica.ts"
import * as Shipped from "./Shipped.ts"

const timeout = 300_000

/** What a server tells Prometheus that has searched, refused and failed, on Postgres and Redis and with a collector. */
const scrape = Effect.gen(function* () {
  const collector = yield* Collector.start()
  const polar = yield* fakePolar()
  const { metrics, redis, send } = yield* Replica.start({
    ...polar.environment(),
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_METRIC_EXPORT_INTERVAL: "1000"
  })
  yield* send("/v1/query?query=css+grid")
  yield* send("/v1/query?query=css+grid")
  yield* send("/v1/bulk", { queries: ["a", "b", { query: "c", geo: "nowhere" }] })
  yield* send("/v1/query?page=none")
  // Its address is not allowed, so that it is measured without a fetch.
  yield* send("/v1/page?url=http%3A%2F%2F127.0.0.1%2F")
  // A command that fails, because only failures have an error's type.
  yield* Effect.promise(() => redis.cli("CONFIG", "SET", "maxmemory", "1"))
  yield* send("/v1/query?query=full")
  // The first garbage collection and the first looks at the books come when they come.
  const late = [
    "v8js.gc.duration",
    "quarry.billing.owed_credits",
    "quarry.billing.sweeps",
    "quarry.events.overdue",
    "quarry.ledger.checks",
    "quarry.ledger.verified.time",
    "quarry.search.duration"
  ]
  /** Waits until so many pushes behind the first `skipped` bodies have all of them. */
  const pushes = (count: number, skipped = 0) =>
    Effect.repeat(Effect.void, {
      until: () =>
        collector.bodies.slice(skipped).filter((body) => late.every((name) => body.includes(name))).length >= count,
      schedule: Schedule.spaced("100 millis")
    })
  yield* pushes(1)
  const before = collector.bodies.length
  const text = (yield* metrics) ?? ""
  // The first of them may have been read before the text was. The second has every value of the text.
  yield* pushes(2, before)
  return { text, pushed: collector.bodies.join("\n") }
})

const seriesOf = (text: string): Map<string, Set<string>> => {
  const series = new Map<string, Set<string>>()
  for (const [, name = "", labels = ""] of text.matchAll(/^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? \S+$/gm)) {
    const known = series.get(name) ?? new Set()
    for (const [, label = ""] of labels.matchAll(/(\w+)="/g)) known.add(label)
    series.set(name, known)
  }
  return series
}

/** Labels that Prometheus adds to each series that it scrapes. */
const scraped = new Set(["job", "instance"])

const keywords = new Set([
  "and",
  "or",
  "unless",
  "by",
  "without",
  "le",
  "on",
  "ignoring",
  "bool",
  "offset",
  "group_left"
])

/** The metrics that an expression names, each with the labels that it is picked by, and the labels it is summed by. */
const namedIn = (expr: string) => {
  const grouped = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, labels = ""]) => labels.split(/,\s*/))
  const bare = expr
    .replaceAll(/\bby \([^)]*\)/g, "")
    .replaceAll(/\[[^\]]*\]/g, "")
    .replaceAll(/"(?:[^"\\]|\\.)*"/g, '""')
    .replaceAll(/\boffset \w+/g, "")
  const metrics = [...bare.matchAll(/([a-zA-Z_:][\w:]*)\s*(\(|\{[^}]*\})?/g)].flatMap(([, name = "", after = ""]) => {
    if (after === "(" || keywords.has(name)) return []
    return [{ name, labels: [...after.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label = ""]) => label) }]
  })
  // Matchers were read with their metric: the rest is not a metric name.
  const inBraces = new Set(metrics.flatMap(({ labels }) => labels))
  return { grouped, metrics: metrics.filter(({ name }) => !inBraces.has(name)) }
}

describeWithPostgres("the metrics of a running service", () => {
  describeWithRedis("with Redis", () => {
    promtool.describe("as Prometheus reads them", () => {
      it.live(
        "are well-formed, few, all that dashboards and alerts name, and pushed under the same names",
        () =>
          Effect.gen(function* () {
            const { pushed, text } = yield* scrape
            assert.strictEqual(promtool.complaints(["check", "metrics"], text), "")

            const names = new Set([...pushed.matchAll(/[a-z][\w.]+/g)].map(([name]) => prometheusName(name)))
            for (const [, family = ""] of text.matchAll(/^# TYPE (\S+)/gm))
              assert.include([...names], family, "over OTLP")

            const series = seriesOf(text)
            assert.isBelow(text.split("\n").length, 2_000)
            const recorded = new Set(["up", ...Shipped.rules.flatMap(({ record }) => record ?? [])])
            for (const { expr, where } of Shipped.expressions) {
              const { grouped, metrics } = namedIn(expr)
              assert.isNotEmpty(metrics, `${where}: ${expr}`)
              const known = new Set(scraped)
              for (const { labels, name } of metrics) {
                if (recorded.has(name)) continue
                const has = series.get(name)
                assert.isDefined(has, `${where} names ${name}, which is not there`)
                for (const label of labels) {
                  if (!scraped.has(label)) assert.include([...(has ?? [])], label, `${where}: ${name}`)
                }
                for (const label of has ?? []) known.add(label)
              }
              for (const label of grouped) assert.include([...known], label, where)
            }
          }),
        timeout
      )
    })
  })
})
