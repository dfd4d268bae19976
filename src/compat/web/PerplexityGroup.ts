import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { freshnessPeriods, maxDomains } from "../../domain/options/SearchOptions.ts"
import { parseSite } from "../../domain/options/Sites.ts"
import { Text } from "../../domain/requests/fields.ts"
import { ownErrors } from "../CompatError.ts"
import { alias, documented } from "../endpoints.ts"
import { Count, LongQuery } from "../fields.ts"

const maxQueries = 5

const siteMessage = "must be a domain as in example.org, or -example.org to exclude it"

const Site = Text.check(
  Schema.makeFilter((text: string) => parseSite(text.trim().replace(/^-/, "")) !== undefined || siteMessage)
)

export const PerplexityRequest = Schema.Struct({
  query: Schema.Union([
    LongQuery,
    Schema.Array(LongQuery).check(
      Schema.isBetweenLength(1, maxQueries, { message: `must have 1 to ${maxQueries} queries` })
    )
  ])
    .annotate({
      message: `must be a query, or a list of 1 to ${maxQueries} queries`,
      description: "Each query is a search, for one credit. Their results are combined by rank."
    })
    .pipe(Schema.annotateKey({ messageMissingKey: "is required" })),
  max_results: Schema.optionalKey(Count.annotate({ description: "Maximum number of results; 10 if absent." })),
  country: Schema.optionalKey(Text.annotate({ description: "An ISO 3166-1 code." })),
  search_recency_filter: Schema.optionalKey(
    Schema.Literals(freshnessPeriods).annotate({
      message: `must be one of ${freshnessPeriods.join(", ")}`,
      description: "Only results published or found in this time."
    })
  ),
  search_domain_filter: Schema.optionalKey(
    Schema.Array(Site)
      .annotate({
        message: `must be a list of at most ${maxDomains} domains`,
        description: "Only results from these domains. A domain with a leading - is excluded."
      })
      .check(Schema.isMaxLength(maxDomains, { message: `must be a list of at most ${maxDomains} domains` }))
  )
}).annotate({ identifier: "PerplexityRequest", message: "the body must be a JSON object with a query" })
export type PerplexityRequest = typeof PerplexityRequest.Type

export const PerplexityAnswer = Schema.Struct({
  id: Schema.String,
  results: Schema.Array(
    Schema.Struct({
      title: Schema.String,
      url: Schema.String,
      snippet: Schema.String,
      date: Schema.NullOr(Schema.String).annotate({ description: "Date of publication, if the engine gave one" }),
      last_updated: Schema.Null
    })
  )
}).annotate({ identifier: "PerplexityAnswer", description: "A response in the format of Perplexity's Search API" })
export type PerplexityAnswer = typeof PerplexityAnswer.Type

const endpoint = { payload: PerplexityRequest, success: PerplexityAnswer, error: ownErrors }

/** Perplexity's search, at two addresses: some clients take the API address, others the search address. */
export class PerplexityGroup extends HttpApiGroup.make("compatPerplexity")
  .add(
    HttpApiEndpoint.post("search", "/compat/perplexity/search", endpoint).annotateMerge(
      documented({
        identifier: "compatPerplexity",
        summary: "Search as in Perplexity's Search API",
        description: "Perplexity's Search API, with links, snippets and dates. Also served at /compat/perplexity."
      })
    ),
    HttpApiEndpoint.post("bare", "/compat/perplexity", endpoint).annotateMerge(alias)
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Perplexity",
      description: "For programs with a configurable address for Perplexity's search"
    })
  ) {}
