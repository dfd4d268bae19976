import { Result } from "effect"
import { decoder } from "../../domain/requests/fields.ts"
import { countryCode } from "../../domain/search/Country.ts"
import { defaultNum } from "../../domain/search/SearchRequest.ts"
import { readJson } from "../requests/body.ts"
import { type PerplexityAnswer, PerplexityRequest } from "./PerplexityGroup.ts"
import type { CompatResults, Shape } from "./Shape.ts"

const answerUpTo =
  (count: number) =>
  ({ id, results }: CompatResults): PerplexityAnswer => ({
    id,
    results: results
      .slice(0, count)
      .map(({ snippet, title, url }) => ({ title, url, snippet, date: null, last_updated: null }))
  })

const decode = decoder(PerplexityRequest)

export const perplexity: Shape = {
  name: "perplexity",
  fields: Object.keys(PerplexityRequest.fields),
  takesKeyInBody: false,
  read: readJson,
  decode: (fields) =>
    Result.map(decode(fields), ({ country, max_results: count = defaultNum, query }) => ({
      query,
      geo: country === undefined ? undefined : (countryCode(country) ?? country),
      num: count,
      answer: answerUpTo(count)
    }))
}
