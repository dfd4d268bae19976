import { Result, Schema } from "effect"
import { HttpApiEndpoint } from "effect/http-api"
import { freshnessPeriods, maxDomains, type OptionFields } from "../../domain/options/SearchOptions.ts"
import { parseSite } from "../../domain/options/Sites.ts"
import { decoder, Text } from "../../domain/requests/fields.ts"
import { countryCode } from "../../domain/search/Country.ts"
import { defaultNum } from "../../domain/search/SearchRequest.ts"
import { ownErrors } from "../CompatError.ts"
import type { CompatService } from "../CompatService.ts"
import { alias, groupOf } from "../endpoints.ts"
import { exampleResults } from "../examples.ts"
import { Count, LongQuery } from "../fields.ts"
import { type CompatResults, jsonForm, type SearchForm } from "../SearchForm.ts"

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
type PerplexityRequest = typeof PerplexityRequest.Type

const PerplexityAnswer = Schema.Struct({
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
type PerplexityAnswer = typeof PerplexityAnswer.Type

const endpoint = { payload: PerplexityRequest, success: PerplexityAnswer, error: ownErrors }

/** Perplexity's search, at two addresses: some clients take the API address, others the search address. */
const PerplexityGroup = groupOf({
  name: "compatPerplexity",
  title: "Perplexity",
  programs: "For programs with a configurable address for Perplexity's search",
  endpoint: HttpApiEndpoint.post("search", "/compat/perplexity/search", endpoint),
  summary: "Search as in Perplexity's Search API",
  description: "Perplexity's Search API, with links, snippets and dates. Also served at /compat/perplexity."
}).add(HttpApiEndpoint.post("bare", "/compat/perplexity", endpoint).annotateMerge(alias))

const answerUpTo =
  (count: number) =>
  ({ id, results }: CompatResults): PerplexityAnswer => ({
    id,
    results: results.slice(0, count).map(({ published, snippet, title, url }) => ({
      title,
      url,
      snippet,
      date: published?.slice(0, "2026-01-31".length) ?? null,
      last_updated: null
    }))
  })

type Filters = Pick<PerplexityRequest, "search_domain_filter" | "search_recency_filter">

const optionsOf = ({ search_domain_filter: sites = [], search_recency_filter: freshness }: Filters): OptionFields => {
  const trimmed = sites.map((site) => site.trim())
  return {
    freshness,
    include_domains: trimmed.filter((site) => !site.startsWith("-")),
    exclude_domains: trimmed.filter((site) => site.startsWith("-")).map((site) => site.slice(1))
  }
}

const decode = decoder(PerplexityRequest)

const search: SearchForm = {
  ...jsonForm("perplexity", PerplexityRequest),
  decode: (fields) =>
    Result.map(decode(fields), ({ country, max_results: count = defaultNum, query, ...filters }) => ({
      query,
      geo: country === undefined ? undefined : (countryCode(country) ?? country),
      num: count,
      options: optionsOf(filters),
      answer: answerUpTo(count)
    }))
}

export const perplexity: CompatService = {
  name: "perplexity",
  routes: [{ group: PerplexityGroup, search }],
  examples: {
    compatPerplexity: {
      request: { query: exampleResults.query, max_results: 5 } satisfies PerplexityRequest,
      response: answerUpTo(5)(exampleResults)
    }
  }
}
