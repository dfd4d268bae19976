import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Text } from "../../domain/fields.ts"
import { alias, documented } from "./endpoints.ts"
import { ownErrors } from "./errors.ts"
import { Count, LongQuery } from "./fields.ts"

/** The most queries of a list, as at Perplexity. */
const maxQueries = 5

/** The fields of a search that Quarry serves. Perplexity's others are taken and ignored. */
export const PerplexityRequest = Schema.Struct({
  query: Schema.Union([
    LongQuery,
    Schema.Array(LongQuery).check(
      Schema.isBetweenLength(1, maxQueries, { message: `must have 1 to ${maxQueries} queries` })
    )
  ])
    .annotate({ message: `must be a query, or 1 to ${maxQueries} of them`, description: "Several are joined to one." })
    .pipe(Schema.annotateKey({ messageMissingKey: "is required" })),
  max_results: Schema.optionalKey(Count.annotate({ description: "Most results wanted; 10 when absent." })),
  country: Schema.optionalKey(Text.annotate({ description: "An ISO 3166-1 code." }))
}).annotate({ identifier: "PerplexityRequest", message: "the body must be a JSON object with a query" })
export type PerplexityRequest = typeof PerplexityRequest.Type

export const PerplexityAnswer = Schema.Struct({
  id: Schema.String,
  results: Schema.Array(
    Schema.Struct({
      title: Schema.String,
      url: Schema.String,
      snippet: Schema.String,
      date: Schema.Null,
      last_updated: Schema.Null
    })
  )
}).annotate({ identifier: "PerplexityAnswer", description: "An answer as clients of Perplexity's search read it" })
export type PerplexityAnswer = typeof PerplexityAnswer.Type

const endpoint = { payload: PerplexityRequest, success: PerplexityAnswer, error: ownErrors }

/** Perplexity's search. Some clients take the address of the API, and some that of the search. */
export class PerplexityGroup extends HttpApiGroup.make("compatPerplexity")
  .add(
    HttpApiEndpoint.post("search", "/compat/perplexity/search", endpoint)
      .annotateMerge(documented())
      .annotateMerge(
        OpenApi.annotations({
          identifier: "compatPerplexity",
          summary: "Search as in Perplexity's Search API",
          description: "Perplexity's search, with links and snippets and without dates. /compat/perplexity is the same."
        })
      ),
    HttpApiEndpoint.post("bare", "/compat/perplexity", endpoint).annotateMerge(alias)
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Perplexity",
      description: "For programs that take the address of Perplexity's search"
    })
  ) {}
