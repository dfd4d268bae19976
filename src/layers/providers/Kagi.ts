import { Redacted } from "effect"
import { HttpClientRequest } from "effect/http"
import * as SearchApi from "./SearchApi.ts"

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
    HttpClientRequest.post(`${url}/api/v1/search`, {
      headers: key === undefined ? {} : { authorization: `Bearer ${Redacted.value(key)}` }
    }).pipe(
      HttpClientRequest.bodyJsonUnsafe({
        query,
        page,
        limit: rows,
        safe_search: safe !== "off",
        ...(country === undefined ? {} : { filters: { region: country } })
      })
    ),
  answer: { rows: ["data", "search"], marks: ["data"], url: "url", title: "title", snippet: "snippet" }
})
