import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Layer, Result } from "effect"
import type { RefusalReason } from "../../../src/domain/providers/Refusal.ts"
import * as ProviderFile from "../../../src/layers/providers/ProviderFile.ts"
import { foundations } from "../../support/api/ProviderTable.ts"
import { type Answer, json, serve } from "../../support/servers/UpstreamServer.ts"

const file = (rerank: object) => ({
  providers: { own: { type: "index" } },
  targets: { alpha_search: { providers: [{ provider: "own" }], rerank } }
})

const key = "rerank-key-1"

const tableOf = (rerank: object) =>
  Effect.flatMap(
    Layer.build(
      Layer.mergeAll(
        foundations(file(rerank)),
        ConfigProvider.layer(ConfigProvider.fromEnv({ env: { RERANK_KEY: key } }))
      )
    ),
    (context) => Effect.provideContext(ProviderFile.table({ _tag: "file", path: "providers.json" }), context)
  )

const order = (rerank: object, texts = ["a", "b", "c"]) =>
  Effect.gen(function* () {
    const reranker = (yield* tableOf(rerank)).rerankers?.alpha_search ?? assert.fail("no reranker")
    return yield* Effect.result(reranker.order("planets", texts))
  })

const results = { results: [0.1, 0.9, 0.5].map((relevance_score, index) => ({ index, relevance_score })) }

const documented: ReadonlyArray<readonly [string, object, unknown, string, unknown]> = [
  [
    "cohere",
    { model: "rerank-v3.5", apiKey: `\${RERANK_KEY}` },
    { id: "1", ...results, meta: {} },
    "/v2/rerank",
    { model: "rerank-v3.5", query: "planets", documents: ["a", "b", "c"], top_n: 3 }
  ],
  [
    "jina",
    { model: "jina-reranker-v3", apiKey: `\${RERANK_KEY}` },
    { model: "jina-reranker-v3", usage: { total_tokens: 9 }, ...results },
    "/v1/rerank",
    { model: "jina-reranker-v3", query: "planets", documents: ["a", "b", "c"], top_n: 3, return_documents: false }
  ],
  [
    "tei",
    {},
    [
      { index: 1, score: 0.9 },
      { index: 2, score: 0.5 },
      { index: 0, score: 0.1 }
    ],
    "/rerank",
    { query: "planets", texts: ["a", "b", "c"], truncate: true }
  ]
]

describe("R86: rerank", () => {
  for (const [type, options, response, path, sent] of documented) {
    it.live(`${type}: sends the documented request and orders by score`, () =>
      Effect.gen(function* () {
        const { received, url } = yield* serve(json(response))
        const ordered = yield* order({ type, url: `${url}/`, ...options })
        assert.deepStrictEqual(ordered, Result.succeed([1, 2, 0]))
        const [request] = received
        assert.deepStrictEqual([request?.method, request?.path], ["POST", path])
        assert.deepStrictEqual(JSON.parse(request?.body ?? ""), sent)
        assert.strictEqual(request?.headers.authorization, type === "tei" ? undefined : `Bearer ${key}`)
      })
    )
  }

  const failures: ReadonlyArray<readonly [string, Answer, RefusalReason]> = [
    ["another JSON", json({ data: [] }), "malformed"],
    ["a row without a score", json([{ index: 0 }]), "malformed"],
    ["503", json({}, 503), "unreachable"],
    ["429", json({}, 429), "rate_limited"]
  ]
  for (const [what, respond, reason] of failures) {
    it.live(`${what} is ${reason}`, () =>
      Effect.gen(function* () {
        const { url } = yield* serve(respond)
        const ordered = yield* order({ type: "tei", url })
        assert.strictEqual(Result.isFailure(ordered) && ordered.failure.reason, reason)
      })
    )
  }

  const url = "https://rerank.example.com"
  const mistakes: ReadonlyArray<readonly [object, string]> = [
    [{ type: "bm25", url }, "type must be one of cohere, jina, tei"],
    [{ type: "tei" }, "url is missing"],
    [{ type: "tei", url: "http://rerank.example.com" }, 'url must begin with https unless "insecure" is true'],
    [{ type: "cohere", url }, "model is missing: cohere needs one"],
    [{ type: "tei", url, model: "m" }, "model is not allowed with tei"],
    [{ type: "tei", url, top: 0 }, "top must be a whole number from 1 to 100"],
    [{ type: "tei", url, timeoutMs: 0 }, "timeoutMs must be a whole number from 1 to 10000 ms"],
    [{ type: "tei", url, depth: 3 }, "depth is not allowed here; allowed are type, url"]
  ]
  for (const [entry, expected] of mistakes) {
    it.live(`stops the start with one line: ${expected}`, () =>
      Effect.gen(function* () {
        const { message } = yield* Effect.flip(tableOf(entry))
        assert.include(message, `QUARRY_PROVIDERS (providers.json): targets.alpha_search.rerank.${expected}`)
        assert.strictEqual(message.split("\n").length, 1, message)
      })
    )
  }
})
