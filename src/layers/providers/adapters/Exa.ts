import { Redacted } from "effect"
import * as SearchApi from "../SearchApi.ts"
import * as UpstreamRequest from "../UpstreamRequest.ts"

/** Exa. The snippet is the passage that matches the query best. */
export const type = SearchApi.type({
  url: "https://api.exa.ai",
  needsKey: true,
  capabilities: () => ({
    paging: { kind: "first", maxRows: 100 },
    safe: ["off", "moderate", "strict"],
    countries: "any",
    languages: "none"
  }),
  request: ({ country, query, rows, safe }, { key, url }) =>
    UpstreamRequest.post(
      `${url}/search`,
      {
        query,
        type: "auto",
        numResults: rows,
        userLocation: country?.toUpperCase(),
        moderation: safe !== "off",
        contents: { highlights: { numSentences: 2, highlightsPerUrl: 1 } }
      },
      key === undefined ? {} : { "x-api-key": Redacted.value(key) }
    ),
  answer: {
    rows: ["results"],
    marks: ["results"],
    url: "url",
    title: "title",
    snippet: ({ highlights, summary, text }: { highlights?: unknown; summary?: unknown; text?: unknown }) =>
      (Array.isArray(highlights) ? highlights[0] : undefined) ?? summary ?? text
  }
})
