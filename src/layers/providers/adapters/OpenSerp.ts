import { Predicate, Redacted } from "effect"
import type { CallOptions } from "../../../domain/options/OptionSupport.ts"
import { placeOf } from "../places.ts"
import * as SearchApi from "../SearchApi.ts"
import * as Upstream from "../Upstream.ts"
import * as UpstreamRequest from "../UpstreamRequest.ts"

const earliest = "1990-01-01"

const dateRange = ({ after, before, today }: CallOptions): string | undefined =>
  after === undefined && before === undefined
    ? undefined
    : `${after ?? earliest}..${before ?? today}`.replaceAll("-", "")

export const type = SearchApi.type({
  url: undefined,
  engines: ["google", "yandex", "baidu", "bing", "duck", "ecosia"],
  needsKey: false,
  capabilities: () => ({
    paging: { kind: "sized", maxPageSize: 20 },
    safe: ["off"],
    countries: "any",
    languages: "any",
    options: { dates: true, domains: { kind: "native", max: 1 } }
  }),
  request: ({ offset, options, query, rows, ...place }, { engine, key, url }) =>
    UpstreamRequest.get(
      `${url}/${engine}/search`,
      {
        text: query,
        ...placeOf("openserp", place),
        limit: rows,
        start: offset,
        date: options === undefined ? undefined : dateRange(options),
        site: options?.includeDomains[0]
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
