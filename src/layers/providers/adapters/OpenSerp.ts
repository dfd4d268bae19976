import { Predicate, Redacted } from "effect"
import * as SearchApi from "../SearchApi.ts"
import * as Upstream from "../Upstream.ts"
import * as UpstreamRequest from "../UpstreamRequest.ts"

/** OpenSERP, self-hosted or in its cloud. It scrapes other engines and reports when they block it. */
export const type = SearchApi.type({
  url: undefined,
  engines: ["google", "yandex", "baidu", "bing", "duck", "ecosia"],
  needsKey: false,
  capabilities: () => ({
    paging: { kind: "sized", maxPageSize: 20 },
    safe: ["off"],
    countries: "any",
    languages: "any"
  }),
  request: ({ country, language, offset, query, rows }, { engine, key, url }) =>
    UpstreamRequest.get(
      `${url}/${engine}/search`,
      {
        text: query,
        lang: language?.toUpperCase(),
        region: country?.toUpperCase(),
        limit: rows,
        start: offset
      },
      key === undefined ? {} : { authorization: `Bearer ${Redacted.value(key)}` }
    ),
  answer: {
    rows: ["results"],
    marks: ["results", "meta"],
    url: "url",
    title: "title",
    snippet: "snippet",
    problem: ({ meta }: { readonly meta?: unknown }) => {
      const failed = Predicate.hasProperty(meta, "engines_failed") ? meta.engines_failed : undefined
      const errors = Predicate.hasProperty(meta, "engine_errors") ? meta.engine_errors : undefined
      return Array.isArray(failed) && failed.length > 0 ? `failed ${Upstream.wordsOf(errors ?? "")}` : ""
    }
  },
  dialect: { statuses: { 403: { reason: "blocked" } } }
})
