import { Effect, Schema } from "effect"
import { Query, toSearch } from "../../domain/search/SearchRequest.ts"
import { Search } from "../../services/search/Search.ts"
import { defaultSource, makeTool } from "../Tool.ts"

const Output = Schema.Struct({
  results: Schema.Array(
    Schema.Struct({
      id: Schema.String.annotate({ description: "The page's URL" }),
      title: Schema.String,
      url: Schema.String
    })
  )
})

const Arguments = Schema.Struct({ query: Query })

/** Follows ChatGPT's connectors and deep research: results are JSON text, and `fetch` takes their IDs. */
export const search = Effect.map(Search, (search) =>
  makeTool({
    name: "search",
    title: "Web search",
    description: "Searches the web and returns the id, title and URL of each result. Costs one credit.",
    arguments: Arguments,
    output: Output,
    openWorld: true,
    scope: "search",
    onRequest: true,
    call: Effect.fnUntraced(function* (principal, { query }) {
      const request = yield* Effect.fromResult(toSearch({ query, source: defaultSource }))
      const { ranking } = yield* Effect.fromResult((yield* search.run(principal, request)).body)
      const results = ranking.results.map(({ title, url }) => ({ id: url, title, url }))
      const text = JSON.stringify({ results } satisfies typeof Output.Encoded)
      return { structured: text, text }
    })
  })
)
