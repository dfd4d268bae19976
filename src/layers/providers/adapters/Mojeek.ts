import { Predicate } from "effect"
import { dayAfter } from "../../../domain/options/published.ts"
import { placeOf } from "../places.ts"
import * as SearchApi from "../SearchApi.ts"
import * as UpstreamRequest from "../UpstreamRequest.ts"

const compact = (date: string | undefined): string | undefined => date?.replaceAll("-", "")

/** Reports errors in the body of a 200 response. */
export const type = SearchApi.type({
  url: "https://www.mojeek.com",
  needsKey: true,
  capabilities: () => ({
    paging: { kind: "sized", maxPageSize: 20 },
    safe: ["off", "moderate", "strict"],
    countries: "any",
    languages: "any",
    options: { dates: true, domains: { kind: "native", max: 1 } }
  }),
  request: ({ offset, options, query, rows, safe, ...place }, { key, url }) =>
    UpstreamRequest.get(`${url}/search`, {
      api_key: key,
      q: query,
      fmt: "json",
      s: offset + 1,
      t: rows,
      safe: safe === "off" ? 0 : 1,
      ...placeOf("mojeek", place),
      site: options?.includeDomains[0],
      since: compact(options?.after),
      before: compact(dayAfter(options?.before))
    }),
  answer: {
    rows: ["response", "results"],
    marks: ["response"],
    url: "url",
    title: "title",
    snippet: "desc",
    problem: ({ response }: { readonly response?: unknown }) => {
      const status = Predicate.hasProperty(response, "status") ? response.status : undefined
      return typeof status === "string" && status !== "OK" ? status : ""
    }
  }
})
