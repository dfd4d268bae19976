import { Result } from "effect"
import { decoder } from "../../domain/requests/fields.ts"
import type { OrganicResult } from "../../domain/search/OrganicResult.ts"
import { defaultNum, maxNum } from "../../domain/search/SearchRequest.ts"
import { statuses } from "../../http/errors.ts"
import { type CompatResults, jsonForm, type ShapeWithErrors } from "../Shape.ts"
import { type ExaAnswer, type ExaError, ExaRequest } from "./ExaGroup.ts"

const hasFilter = ({ excludeDomains = [], includeDomains = [] }: ExaRequest): boolean =>
  excludeDomains.length + includeDomains.length > 0

const isAsked = (contents: ExaRequest["contents"], name: string): boolean =>
  contents?.[name] !== undefined && contents[name] !== false && contents[name] !== null

/** Uses the snippet in place of the page text, because no page is read. */
const toRow =
  ({ contents }: ExaRequest) =>
  ({ published, snippet, title, url }: OrganicResult): ExaAnswer["results"][number] => ({
    id: url,
    title,
    url,
    publishedDate: published ?? null,
    author: null,
    ...(isAsked(contents, "text") ? { text: snippet } : {}),
    ...(isAsked(contents, "highlights") ? { highlights: [snippet] } : {})
  })

const answerTo =
  (request: ExaRequest) =>
  ({ durationMs, requestId, results }: CompatResults): ExaAnswer => ({
    requestId,
    resolvedSearchType: "keyword",
    results: results.slice(0, request.numResults ?? defaultNum).map(toRow(request)),
    searchTime: durationMs
  })

const decode = decoder(ExaRequest)

/** Exa's search. Requests more results if Quarry may remove some of them for their domains. */
export const exa: ShapeWithErrors = {
  ...jsonForm("exa", ExaRequest),
  decode: (fields) =>
    Result.map(decode(fields), (request) => ({
      query: request.query,
      geo: request.userLocation,
      num: hasFilter(request) ? maxNum : (request.numResults ?? defaultNum),
      safe: request.moderation === true ? "strict" : "off",
      options: { include_domains: request.includeDomains, exclude_domains: request.excludeDomains },
      answer: answerTo(request)
    })),
  toError: ({ _tag, message }) => ({
    status: statuses[_tag],
    body: { error: message, tag: _tag.toUpperCase() } satisfies ExaError
  })
}
