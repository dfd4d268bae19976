import { Result } from "effect"
import type { OptionFields } from "../../domain/options/SearchOptions.ts"
import { decoder } from "../../domain/requests/fields.ts"
import { countryCode } from "../../domain/search/Country.ts"
import { defaultNum } from "../../domain/search/SearchRequest.ts"
import { type CompatResults, jsonForm, type Shape } from "../Shape.ts"
import { type PerplexityAnswer, PerplexityRequest } from "./PerplexityGroup.ts"

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

export const perplexity: Shape = {
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
