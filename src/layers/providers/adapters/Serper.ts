import { Redacted } from "effect"
import * as SearchApi from "../SearchApi.ts"
import * as Upstream from "../Upstream.ts"
import * as UpstreamRequest from "../UpstreamRequest.ts"

/** Serper, Google's results. Without a public reference, it is limited to the page size that every client uses. */
export const type = SearchApi.type({
  url: "https://google.serper.dev",
  needsKey: true,
  capabilities: () => ({
    paging: { kind: "fixed", pageSize: 10 },
    safe: ["off"],
    countries: "any",
    languages: "any"
  }),
  request: ({ country, language, page, query }, { key, url }) =>
    UpstreamRequest.post(
      `${url}/search`,
      { q: query, gl: country, hl: language, num: 10, page },
      key === undefined ? {} : { "x-api-key": Redacted.value(key) }
    ),
  answer: {
    rows: ["organic"],
    marks: ["organic", "searchParameters"],
    url: "link",
    title: "title",
    snippet: "snippet",
    problem: (json) => ("message" in json && "statusCode" in json ? `error ${Upstream.wordsOf(json.message)}` : "")
  }
})
