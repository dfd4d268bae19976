import { Redacted } from "effect"
import * as SearchApi from "../SearchApi.ts"
import * as UpstreamRequest from "../UpstreamRequest.ts"

/** Supported countries, which Tavily takes by name. Countries with several spellings are left out. */
const countries = (
  "ae ar at au be bg br ca ch cl cn co de dk ee eg es fi fr gb gr hr hu id ie il in it jp ke kr lt lv mx my ng nl no nz " +
  "pe ph pk pl pt ro sa se sg si sk th tn ua us za"
).split(" ")

const names = new Intl.DisplayNames("en", { type: "region" })

/** Tavily, a single page of results made for language models. */
export const type = SearchApi.type({
  url: "https://api.tavily.com",
  needsKey: true,
  capabilities: () => ({
    paging: { kind: "first", maxRows: 20 },
    safe: ["off"],
    countries,
    languages: "none"
  }),
  request: ({ country, query, rows }, { key, url }) =>
    UpstreamRequest.post(
      `${url}/search`,
      {
        query,
        max_results: rows,
        search_depth: "basic",
        topic: "general",
        country: country === undefined ? undefined : names.of(country.toUpperCase())?.toLowerCase()
      },
      key === undefined ? {} : { authorization: `Bearer ${Redacted.value(key)}` }
    ),
  answer: { rows: ["results"], marks: ["results"], url: "url", title: "title", snippet: "content" },
  dialect: { statuses: { 432: { reason: "quota" }, 433: { reason: "quota" } } }
})
