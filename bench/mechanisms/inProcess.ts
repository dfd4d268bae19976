import { Context, Effect, Exit, Layer, Metric, Option, Schema, type Scope, Tracer } from "effect"
import { HttpClient, HttpClientResponse, HttpServerResponse } from "effect/http"
import { OtlpExporter, OtlpSerialization, OtlpTracer } from "effect/observability"
import { Ranking } from "../../src/domain/search/Ranking.ts"
import { SearchResult, toSearchResult } from "../../src/domain/search/SearchResult.ts"
import { searchResponse } from "../../src/http/handlers/searchResponses.ts"
import { rowsOf } from "../../src/layers/sql/Rows.ts"
import { LoggedRow } from "../../src/layers/sql/search/LogRow.ts"
import * as SpanQueue from "../../src/layers/telemetry/spans/SpanQueue.ts"
import * as SpanTracer from "../../src/layers/telemetry/spans/SpanTracer.ts"
import { counter } from "../../src/services/telemetry/Instrument.ts"
import { withSpan } from "../../src/services/telemetry/Tracing.ts"
import { Deadlines } from "../../src/services/waiting/Deadlines.ts"
import { type Comparison, compare } from "./Comparison.ts"

const resource = { "service.name": "quarry", "service.instance.id": "6dd10437-91e6-43df-a9ae-a7c8d6aa7bb6" }
const maxBatchSize = 512

const ourTracer = Effect.map(
  SpanQueue.make({
    resource,
    maxBatchSize,
    maxQueueSize: Number.MAX_SAFE_INTEGER,
    delayMs: 5_000,
    timeoutMs: 30_000,
    shutdownTimeoutMs: 1_500,
    send: () => Effect.void,
    onSent: () => undefined,
    onLost: () => undefined
  }),
  (onEnd) => SpanTracer.make({ sampling: () => true, onEnd })
)

const accepting = HttpClient.make((request) =>
  Effect.sync(() => HttpClientResponse.fromWeb(request, new Response(null, { status: 200 })))
)

const libraryTracer = OtlpTracer.make({
  url: "http://127.0.0.1/v1/traces",
  resource: { serviceName: "quarry", attributes: resource },
  maxBatchSize
}).pipe(
  Effect.provide(
    Layer.mergeAll(
      OtlpSerialization.layerProtobuf,
      OtlpExporter.layerFlusher,
      Layer.succeed(HttpClient.HttpClient, accepting)
    )
  )
)

/** Creates, ends and encodes the span of a provider attempt, with the same attributes as in the service. */
const attemptSpan = (tracer: Tracer.Tracer, parent: Tracer.AnySpan) =>
  Effect.sync(() => {
    const span = tracer.span({
      name: "Provider.search",
      kind: "client",
      parent: Option.some(parent),
      root: false,
      links: [],
      annotations: Context.empty(),
      startTime: 1_800_000_000_000_000_000n,
      sampled: true
    })
    span.attribute("quarry.provider", "meta")
    span.attribute("quarry.engine", "google")
    span.attribute("http.request.method", "GET")
    span.attribute("server.address", "127.0.0.1")
    span.attribute("server.port", 8888)
    span.attribute("http.response.status_code", 200)
    span.end(1_800_000_000_100_000_000n, Exit.void)
  })

const parent = Tracer.externalSpan({ traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" })

const instrument = counter("quarry.bench.comparisons", {
  description: "For the comparison",
  unit: "1",
  labels: ["a", "b"]
})
const plain = Metric.counter("quarry.bench.library", { incremental: true })

export const results = Array.from({ length: 10 }, (_, index) => ({
  position: index + 1,
  title: "How it works, explained in depth",
  url: `https://www.example.com/articles/2025/how-it-works/${index}`,
  domain: "example.com",
  snippet: "A snippet as engines give it: about two lines of text that say what the page is about, with a date or two."
}))

const body = {
  id: "qry_9f0c2ab45d6e4f1b8a7c3d2e1f0a9b8c",
  target: "alpha_search" as const,
  query: "http caching",
  geo: "us",
  locale: "en-us",
  page: 1,
  ranking: new Ranking(results)
}
/** The same body in the library's form. */
const asObjects = toSearchResult(body)
const encodeBody = HttpServerResponse.schemaJson(SearchResult)

const logged: typeof LoggedRow.Type = {
  id: "qry_9f0c2ab45d6e4f1b8a7c3d2e1f0a9b8c",
  account_id: "acc_1",
  key_id: "key_1",
  batch_id: null,
  target: "alpha_search",
  query: "http caching",
  geo: "us",
  locale: "en-us",
  page: 1,
  num: 10,
  safe: "off",
  source: "api",
  outcome: "ok",
  credits: 1,
  cached: false,
  provider: "meta/google",
  result_count: 10,
  duration_ms: 412n,
  request_id: "0f8fad5b-d9cb-469f-a165-70867728950e",
  row_index: null,
  refusals: null,
  host: null,
  reason: null,
  bytes: null,
  options: null,
  person_id: null,
  created_at: new Date(1_800_000_000_000)
}
const page = Array.from({ length: 50 }, () => logged)
const typedRows = rowsOf(LoggedRow)
const decodeRows = Schema.decodeUnknownEffect(Schema.Array(Schema.toType(LoggedRow)))

/** Mechanisms that need no server. */
export const comparisons: Effect.Effect<ReadonlyArray<Comparison>, never, Scope.Scope> = Effect.gen(function* () {
  const ours = yield* ourTracer
  const library = yield* libraryTracer
  const deadlines = yield* Deadlines.make
  return [
    compare("a span: made, ended, encoded", attemptSpan(ours, parent), attemptSpan(library, parent)),
    compare(
      "a span around an effect, both by our tracer",
      Effect.withTracer(
        withSpan("Search.run", { parent }, () => Effect.void),
        ours
      ),
      Effect.withTracer(Effect.withSpan(Effect.void, "Search.run", { parent }), ours)
    ),
    compare(
      "a deadline for an effect of one step",
      Effect.suspend(() => deadlines.until(Effect.yieldNow, deadlines.after(15_000), () => Effect.void)),
      Effect.timeoutOption(Effect.yieldNow, 15_000)
    ),
    compare(
      "a count with two labels",
      Effect.suspend(() => Metric.update(instrument.of("x", "y"), 1)),
      Effect.suspend(() => Metric.update(Metric.withAttributes(plain, { a: "x", b: "y" }), 1))
    ),
    compare(
      "the response of a search with ten results, which we have encoded",
      Effect.sync(() => searchResponse(body)),
      Effect.suspend(() => encodeBody(asObjects))
    ),
    compare(
      "50 rows of the query log, undecoded and decoded",
      Effect.suspend(() => typedRows(Effect.succeed(page))),
      Effect.suspend(() => decodeRows(page))
    )
  ]
})
