import { Redacted } from "effect"
import { freshnessPeriods } from "../../../domain/options/SearchOptions.ts"
import { googleTbs } from "../googleTbs.ts"
import { placeOf } from "../places.ts"
import * as SearchApi from "../SearchApi.ts"
import * as Upstream from "../Upstream.ts"
import * as UpstreamRequest from "../UpstreamRequest.ts"

const row = {
  url: "link",
  title: "title",
  snippet: "snippet",
  published: "date",
  problem: (json: object) =>
    "message" in json && "statusCode" in json ? `error ${Upstream.wordsOf(json.message)}` : ""
}

/** Serper does not document its largest page, so this uses the page size of other clients. */
export const type = SearchApi.type({
  url: "https://google.serper.dev",
  needsKey: true,
  capabilities: () => ({
    paging: { kind: "fixed", pageSize: 10 },
    safe: ["off"],
    countries: "any",
    languages: "any",
    options: {
      freshness: freshnessPeriods,
      dates: true,
      domains: { kind: "operators", or: "OR", canExclude: true },
      news: true
    }
  }),
  request: ({ options, page, query, ...place }, { key, url }) =>
    UpstreamRequest.post(
      options?.isNews === true ? `${url}/news` : `${url}/search`,
      {
        q: query,
        ...placeOf("serper", place),
        num: 10,
        page,
        tbs: options === undefined ? undefined : googleTbs(options)
      },
      key === undefined ? {} : { "x-api-key": Redacted.value(key) }
    ),
  answer: { rows: ["organic"], marks: ["organic", "searchParameters"], ...row },
  newsAnswer: { rows: ["news"], marks: ["news", "searchParameters"], ...row }
})
