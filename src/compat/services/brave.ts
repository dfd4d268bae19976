import { Effect, Result, Schema } from "effect"
import { HttpApiEndpoint } from "effect/http-api"
import { asDigits, decoder, Text } from "../../domain/requests/fields.ts"
import type { OrganicResult } from "../../domain/search/OrganicResult.ts"
import { safeLevels } from "../../domain/search/Target.ts"
import { statuses } from "../../http/errors.ts"
import { parseQueryOf } from "../../http/requests/query.ts"
import { errorsOf } from "../CompatError.ts"
import type { CompatService } from "../CompatService.ts"
import { groupOf, parametersOf } from "../endpoints.ts"
import { exampleResults } from "../examples.ts"
import { Count, countMessage, LongQuery, placeOf } from "../fields.ts"
import type { CompatResults, SearchForm } from "../SearchForm.ts"

const BraveParameters = Schema.Struct({
  q: LongQuery,
  count: Schema.optionalKey(
    asDigits(Count, countMessage).pipe(
      Schema.annotateEncoded({ description: "Maximum number of results; 20 if absent." })
    )
  ),
  offset: Schema.optionalKey(
    asDigits(Count, countMessage).pipe(
      Schema.annotateEncoded({ description: "Pages to skip, each of count results; 0 if absent." })
    )
  ),
  country: Schema.optionalKey(Text.annotate({ description: "An ISO 3166-1 code; ALL is the default." })),
  search_lang: Schema.optionalKey(Text.annotate({ description: "A language tag such as de or pt-br." })),
  safesearch: Schema.optionalKey(
    Schema.Literals(safeLevels).annotate({
      message: `must be one of ${safeLevels.join(", ")}`,
      description: "Off if absent. Ignored if the target has no safe search."
    })
  )
})

const BraveResult = Schema.Struct({
  type: Schema.String,
  title: Schema.String,
  url: Schema.String,
  description: Schema.String,
  is_source_local: Schema.Boolean,
  is_source_both: Schema.Boolean,
  family_friendly: Schema.Boolean,
  language: Schema.String,
  profile: Schema.Struct({ name: Schema.String, url: Schema.String, long_name: Schema.String }),
  meta_url: Schema.Struct({
    scheme: Schema.String,
    netloc: Schema.String,
    hostname: Schema.String,
    path: Schema.String
  })
})

const BraveAnswer = Schema.Struct({
  type: Schema.String,
  query: Schema.Struct({ original: Schema.String, more_results_available: Schema.Boolean }),
  mixed: Schema.Struct({
    type: Schema.String,
    main: Schema.Array(Schema.Struct({ type: Schema.String, index: Schema.Int, all: Schema.Boolean })),
    top: Schema.Array(Schema.String),
    side: Schema.Array(Schema.String)
  }),
  web: Schema.Struct({ type: Schema.String, results: Schema.Array(BraveResult), family_friendly: Schema.Boolean })
}).annotate({ identifier: "BraveAnswer", description: "A response in the format of Brave's web search" })
type BraveAnswer = typeof BraveAnswer.Type

const BraveError = Schema.Struct({
  type: Schema.String,
  error: Schema.Struct({
    status: Schema.Int,
    code: Schema.String,
    detail: Schema.String.annotate({ description: "Human-readable error message" })
  })
}).annotate({ identifier: "BraveError", description: "An error in Brave's format" })
type BraveError = typeof BraveError.Type

const BraveGroup = groupOf({
  name: "compatBrave",
  title: "Brave",
  programs: "For programs with a configurable address for Brave's search",
  endpoint: HttpApiEndpoint.get("search", "/compat/brave/res/v1/web/search", {
    success: BraveAnswer,
    error: errorsOf(BraveError, statuses)
  }),
  summary: "Search as in Brave's Search API",
  description: "Brave's web search, with web results alone: no news, videos, summaries or discussions.",
  parameters: parametersOf(BraveParameters)
})

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
const search: SearchForm = {
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
    )
}

export const brave: CompatService = {
  name: "brave",
  routes: [{ group: BraveGroup, search }],
  toError: ({ _tag, message }) => {
    const status = statuses[_tag]
    const error = { status, code: codes[status] ?? "INTERNAL", detail: message }
    return { status, body: { type: "ErrorResponse", error } satisfies BraveError }
  },
  examples: { compatBrave: { response: answerUpTo(defaultCount)(exampleResults) } }
}
