import { Redacted } from "effect"
import * as SearchApi from "../SearchApi.ts"
import * as UpstreamRequest from "../UpstreamRequest.ts"

/** Kagi Search API v1. */
export const type = SearchApi.type({
  url: "https://kagi.com",
  needsKey: true,
  capabilities: () => ({
    paging: { kind: "sized", maxPageSize: 100, maxPages: 10 },
    safe: ["off", "moderate", "strict"],
    countries: "any",
    languages: "none"
  }),
  request: ({ country, page, query, rows, safe }, { key, url }) =>
    UpstreamRequest.post(
      `${url}/api/v1/search`,
      {
        query,
        page,
        limit: rows,
        safe_search: safe !== "off",
        ...(country === undefined ? {} : { filters: { region: country } })
      },
      key === undefined ? {} : { authorization: `Bearer ${Redacted.value(key)}` }
    ),
  answer: { rows: ["data", "search"], marks: ["data"], url: "url", title: "title", snippet: "snippet" }
})
