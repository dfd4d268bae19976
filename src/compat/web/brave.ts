import { Effect, Result } from "effect"
import { decoder } from "../../domain/requests/fields.ts"
import type { OrganicResult } from "../../domain/search/OrganicResult.ts"
import { statuses } from "../../http/errors.ts"
import { parseQueryOf } from "../../http/requests/query.ts"
import { placeOf } from "../fields.ts"
import type { CompatResults, ShapeWithErrors } from "../Shape.ts"
import { type BraveAnswer, type BraveError, BraveParameters } from "./BraveGroup.ts"

const defaultCount = 20

const toRow = ({ domain, snippet, title, url }: OrganicResult): BraveAnswer["web"]["results"][number] => {
  const { host, hostname, pathname, protocol } = new URL(url)
  return {
    type: "search_result",
    title,
    url,
    description: snippet,
    is_source_local: false,
    is_source_both: false,
    family_friendly: true,
    language: "",
    profile: { name: domain, url, long_name: hostname },
    meta_url: { scheme: protocol.slice(0, -1), netloc: host, hostname, path: pathname }
  }
}

const answerUpTo =
  (count: number) =>
  ({ query, results }: CompatResults): BraveAnswer => {
    const rows = results.slice(0, count).map(toRow)
    return {
      type: "search",
      query: { original: query, more_results_available: count > 0 && rows.length === count },
      mixed: {
        type: "mixed",
        main: rows.map((_, index) => ({ type: "web", index, all: false })),
        top: [],
        side: []
      },
      web: { type: "search", results: rows, family_friendly: true }
    }
  }

const codes: Readonly<Record<number, string>> = {
  400: "VALIDATION",
  401: "SUBSCRIPTION_TOKEN_INVALID",
  402: "QUOTA_LIMITED",
  404: "RESOURCE_NOT_FOUND",
  429: "RATE_LIMITED"
}

const decode = decoder(BraveParameters)

/** Brave's web search. Its `offset` counts pages, as Quarry's `page` does from 1. */
export const brave: ShapeWithErrors = {
  name: "brave",
  fields: Object.keys(BraveParameters.fields),
  read: (request) => Effect.fromResult(parseQueryOf(request)),
  decode: (fields) =>
    Result.flatMap(decode(fields), ({ count = defaultCount, country, offset = 0, q, safesearch, search_lang }) =>
      Result.map(placeOf("search_lang", search_lang), (place) => ({
        query: q,
        ...place,
        ...(country === undefined || country.toUpperCase() === "ALL" ? {} : { geo: country }),
        page: offset + 1,
        num: count,
        safe: safesearch ?? "off",
        answer: answerUpTo(count)
      }))
    ),
  toError: ({ _tag, message }) => {
    const status = statuses[_tag]
    const error = { status, code: codes[status] ?? "INTERNAL", detail: message }
    return { status, body: { type: "ErrorResponse", error } satisfies BraveError }
  }
}
