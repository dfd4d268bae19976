import { Redacted } from "effect"
import * as SearchApi from "../SearchApi.ts"
import * as UpstreamRequest from "../UpstreamRequest.ts"

/** Indexes small, text-heavy sites. The shared key `public` works but is often rate limited. */
export const type = SearchApi.type({
  url: "https://api2.marginalia-search.com",
  needsKey: true,
  capabilities: () => ({
    paging: { kind: "sized", maxPageSize: 100 },
    safe: ["off", "moderate", "strict"],
    countries: "none",
    languages: "none",
    options: { domains: { kind: "operators" } }
  }),
  request: ({ page, query, rows, safe }, { key, url }) =>
    UpstreamRequest.get(
      `${url}/search`,
      { query, count: rows, page, nsfw: safe === "off" ? 0 : 1 },
      key === undefined ? {} : { "api-key": Redacted.value(key) }
    ),
  answer: { rows: ["results"], marks: ["results"], url: "url", title: "title", snippet: "description" },
  dialect: { statuses: { 503: { reason: "rate_limited" } } }
})
