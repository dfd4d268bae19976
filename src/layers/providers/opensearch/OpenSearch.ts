import { Effect, Schema } from "effect"
import type { SearchRequest } from "../../../domain/search/SearchRequest.ts"
import { defaultQueueMs } from "../../../services/providers/Provider.ts"
import { define } from "../ProviderType.ts"
import * as Upstream from "../Upstream.ts"
import * as Engine from "./Engine.ts"
import { makeStore } from "./Store.ts"
import { searchBody } from "./searchBody.ts"

/** The engine's `index.max_result_window`. */
const maxWindow = 10_000

const Text = Schema.Struct({ title: Schema.String, description: Schema.String })

/** A response of `_search`. The object with the text is named after its language. */
const Answer = Schema.Struct({
  timed_out: Schema.Boolean,
  hits: Schema.Struct({
    hits: Schema.Array(
      Schema.Struct({
        _source: Schema.Record(Schema.String, Schema.Unknown),
        highlight: Schema.optionalKey(Schema.Record(Schema.String, Schema.Array(Schema.String)))
      })
    )
  })
})
type Hit = (typeof Answer.Type)["hits"]["hits"][number]

const decodeAnswer = Schema.decodeUnknownEffect(Answer)
const isText = Schema.is(Text)

const rowOf = ({ _source, highlight = {} }: Hit) => {
  const { url } = _source
  const text = Object.values(_source).find((value) => isText(value))
  if (typeof url !== "string" || !isText(text)) return []
  const [[part] = []] = Object.values(highlight)
  return [{ url, title: text.title, snippet: part ?? text.description }]
}

/** OpenSearch 3.2 and later, or Elasticsearch 7.13 and later: both have `combined_fields`. */
export const type = define({
  options: Engine.Options,
  engines: "none",
  make: (name, options) =>
    Effect.gen(function* () {
      const engine = yield* Engine.make(name, options)
      const search = Effect.fnUntraced(function* (request: SearchRequest, maxQueueMs = defaultQueueMs) {
        if (request.page * request.num > maxWindow) return []
        const json = yield* engine.call({ method: "POST", endpoint: "_search", body: searchBody(request) }, maxQueueMs)
        const answer = yield* decodeAnswer(json).pipe(
          Effect.catch(() => Upstream.refuse("malformed", "its response is not the documented JSON"))
        )
        const { hits } = answer.hits
        // Shards that were too slow are left out. Without any row nobody can tell that from a search that found nothing.
        if (answer.timed_out && hits.length === 0) return yield* Upstream.refuse("timeout", "its shards took too long")
        return hits.flatMap(rowOf)
      })
      return () => ({ name, search, store: makeStore(engine) })
    })
})
