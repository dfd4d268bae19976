import { Redacted } from "effect"
import type { CallOptions } from "../../../domain/options/OptionSupport.ts"
import { placeOf } from "../places.ts"
import * as SearchApi from "../SearchApi.ts"
import * as UpstreamRequest from "../UpstreamRequest.ts"

const filtersIn = (region: string | undefined, { after, before }: Partial<CallOptions> = {}) =>
  (region ?? after ?? before) === undefined ? {} : { filters: { region, after, before } }

export const type = SearchApi.type({
  url: "https://kagi.com",
  needsKey: true,
  capabilities: () => ({
    paging: { kind: "sized", maxPageSize: 100, maxPages: 10 },
    safe: ["off", "moderate", "strict"],
    countries: "any",
    languages: "none",
    options: { dates: true, domains: { kind: "operators", or: "OR", canExclude: true } }
  }),
  request: ({ options, page, query, rows, safe, ...place }, { key, url }) =>
    UpstreamRequest.post(
      `${url}/api/v1/search`,
      {
        query,
        page,
        limit: rows,
        safe_search: safe !== "off",
        ...filtersIn(placeOf("kagi", place).region, options)
      },
      key === undefined ? {} : { authorization: `Bearer ${Redacted.value(key)}` }
    ),
  answer: {
    rows: ["data", "search"],
    marks: ["data"],
    url: "url",
    title: "title",
    snippet: "snippet",
    published: "time"
  }
})
