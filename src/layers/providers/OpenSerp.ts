import { Predicate, Redacted } from "effect"
import { HttpClientRequest } from "effect/http"
import * as SearchApi from "./SearchApi.ts"

/** OpenSERP, self-hosted or in its cloud: scrapes other engines, and says so when they block it. */
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
    HttpClientRequest.get(`${url}/${engine}/search`, {
      urlParams: {
        text: Redacted.make(query),
        lang: language?.toUpperCase(),
        region: country?.toUpperCase(),
        limit: rows,
        start: offset
      },
      headers: key === undefined ? {} : { authorization: `Bearer ${Redacted.value(key)}` }
    }),
  answer: {
    rows: ["results"],
    marks: ["results", "meta"],
    url: "url",
    title: "title",
    snippet: "snippet",
    problem: ({ meta }: { readonly meta?: unknown }) => {
      const failed = Predicate.hasProperty(meta, "engines_failed") ? meta.engines_failed : undefined
      const errors = Predicate.hasProperty(meta, "engine_errors") ? meta.engine_errors : undefined
      return Array.isArray(failed) && failed.length > 0 ? `failed ${JSON.stringify(errors ?? "").slice(0, 500)}` : ""
    }
  },
  dialect: { statuses: { 403: { reason: "blocked" } } }
})
