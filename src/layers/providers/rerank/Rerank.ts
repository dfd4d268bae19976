import { Effect, Redacted, Schema } from "effect"
import type { Reranker } from "../../../services/providers/Reranker.ts"
import { unsharedTurn } from "../../../services/providers/Turn.ts"
import * as Gate from "../Gate.ts"
import { address, decode, requirePrivacy } from "../ProviderType.ts"
import * as Upstream from "../Upstream.ts"
import * as UpstreamRequest from "../UpstreamRequest.ts"

interface Dialect {
  readonly path: string
  readonly needsModel: boolean
  readonly body: (fields: {
    readonly model: string | undefined
    readonly query: string
    readonly texts: ReadonlyArray<string>
  }) => unknown
  /** The member of the response that lists the rows; undefined if the response is the list. */
  readonly rows: string | undefined
  readonly score: string
}

const dialects: { readonly [type: string]: Dialect } = {
  // https://docs.cohere.com/reference/rerank
  cohere: {
    path: "/v2/rerank",
    needsModel: true,
    body: ({ model, query, texts }) => ({ model, query, documents: texts, top_n: texts.length }),
    rows: "results",
    score: "relevance_score"
  },
  // https://api.jina.ai/redoc (POST /v1/rerank)
  jina: {
    path: "/v1/rerank",
    needsModel: true,
    body: ({ model, query, texts }) => ({
      model,
      query,
      documents: texts,
      top_n: texts.length,
      return_documents: false
    }),
    rows: "results",
    score: "relevance_score"
  },
  // https://huggingface.github.io/text-embeddings-inference
  tei: {
    path: "/rerank",
    needsModel: false,
    body: ({ query, texts }) => ({ query, texts, truncate: true }),
    rows: undefined,
    score: "score"
  }
}

const types = Object.keys(dialects)

const wholeNumber = (minimum: number, maximum: number, unit = "") => {
  const message = `must be a whole number from ${minimum} to ${maximum}${unit}`
  return Schema.optionalKey(
    Schema.Number.annotate({ message }).check(
      Schema.isInt({ message }),
      Schema.isBetween({ minimum, maximum }, { message })
    )
  )
}

const maxTop = 100
const maxTimeoutMs = 10_000
const defaults = { top: 20, timeoutMs: 1_500 }

const keyRule = { message: "must be a key of printable ASCII characters" }
const modelRule = { message: "must be the name of a model" }

const members = "type, url, insecure, model, apiKey, top, timeoutMs"

const Options = Schema.Struct({
  type: Schema.Literals(types).annotate({ message: `must be one of ${types.join(", ")}` }),
  url: address.url,
  insecure: address.insecure,
  model: Schema.optionalKey(Schema.String.annotate(modelRule).check(Schema.isPattern(/^\S.{0,199}$/, modelRule))),
  apiKey: Schema.optionalKey(
    Schema.RedactedFromValue(Schema.String.annotate(keyRule).check(Schema.isPattern(/^[!-~]+$/, keyRule)))
  ),
  top: wholeNumber(1, maxTop),
  timeoutMs: wholeNumber(1, maxTimeoutMs, " ms")
})
  .annotate({
    message: `must be an object with ${members}`,
    messageUnexpectedKey: `is not allowed here; allowed are ${members}`
  })
  .check(
    requirePrivacy,
    Schema.makeFilter(({ model, type }: { readonly model?: string; readonly type: string }) => {
      const needsModel = dialects[type]?.needsModel === true
      if (needsModel && model === undefined) return { path: ["model"], issue: `is missing: ${type} needs one` }
      return needsModel || model === undefined || { path: ["model"], issue: `is not allowed with ${type}` }
    })
  )

const decodeOptions = decode(Options)

const malformed = Upstream.refuse("malformed", "its response is not the documented JSON")

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? Object.getOwnPropertyDescriptor(value, name)?.value : undefined

/** By score, because not every server sorts its rows. */
const readOrder = ({ rows, score }: Dialect, json: unknown) => {
  const list: unknown = rows === undefined ? json : memberOf(json, rows)
  if (!Array.isArray(list)) return malformed
  const scored = list
    .slice(0, maxTop + 1)
    .map((row) => ({ index: memberOf(row, "index"), score: memberOf(row, score) }))
  const isScored = (row: {
    readonly index: unknown
    readonly score: unknown
  }): row is { index: number; score: number } => typeof row.index === "number" && typeof row.score === "number"
  if (!scored.every(isScored)) return malformed
  return Effect.succeed(scored.sort((a, b) => b.score - a.score).map(({ index }) => index))
}

/** The reranker of a target, from its entry in the provider file. */
export const make = (path: string, name: string, entry: unknown) =>
  Effect.gen(function* () {
    const options = yield* decodeOptions(path, entry)
    const { apiKey, model, timeoutMs = defaults.timeoutMs, top = defaults.top, type } = options
    const dialect = dialects[type] ?? (yield* Effect.die(new Error(`no reranker ${type}`)))
    const ask = yield* Upstream.make({ gate: yield* Gate.make(name, {}) })
    const url = `${options.url.replace(/\/+$/, "")}${dialect.path}`
    const headers = apiKey === undefined ? {} : { authorization: `Bearer ${Redacted.value(apiKey)}` }
    const reranker: Reranker = {
      type,
      top,
      timeoutMs,
      order: (query, texts) =>
        Effect.flatMap(
          ask(UpstreamRequest.post(url, dialect.body({ model, query, texts }), headers), unsharedTurn(timeoutMs)),
          (json) => readOrder(dialect, json)
        )
    }
    return reranker
  })
