import { Result, Schema } from "effect"
import { HttpApiEndpoint } from "effect/http-api"
import { decoder, Text } from "../../domain/requests/fields.ts"
import { defaultNum } from "../../domain/search/SearchRequest.ts"
import { statuses } from "../../http/errors.ts"
import { errorsOf } from "../CompatError.ts"
import type { CompatService } from "../CompatService.ts"
import { groupOf } from "../endpoints.ts"
import { exampleResults } from "../examples.ts"
import { Count, LongQuery, placeOf } from "../fields.ts"
import { type CompatResults, jsonForm, type SearchForm } from "../SearchForm.ts"

const SerperRequest = Schema.Struct({
  q: LongQuery,
  gl: Schema.optionalKey(Text.annotate({ description: "An ISO 3166-1 code." })),
  hl: Schema.optionalKey(Text.annotate({ description: "A language tag such as de or pt-br." })),
  num: Schema.optionalKey(Count.annotate({ description: "Maximum number of results; 10 if absent." })),
  page: Schema.optionalKey(Count.annotate({ description: "Result page, from 1; 1 if absent." }))
}).annotate({ identifier: "SerperRequest", message: "the body must be a JSON object with q" })
type SerperRequest = typeof SerperRequest.Type

const SerperAnswer = Schema.Struct({
  searchParameters: Schema.Struct({
    q: Schema.String,
    type: Schema.String,
    engine: Schema.String,
    gl: Schema.optionalKey(Schema.String),
    hl: Schema.optionalKey(Schema.String),
    num: Schema.optionalKey(Schema.Int),
    page: Schema.optionalKey(Schema.Int)
  }),
  organic: Schema.Array(
    Schema.Struct({ title: Schema.String, link: Schema.String, snippet: Schema.String, position: Schema.Int })
  ),
  credits: Schema.Int
}).annotate({ identifier: "SerperAnswer", description: "A response in Serper's format" })
type SerperAnswer = typeof SerperAnswer.Type

const SerperError = Schema.Struct({
  message: Schema.String.annotate({ description: "Human-readable error message" }),
  statusCode: Schema.Int
}).annotate({ identifier: "SerperError", description: "An error in Serper's format" })
type SerperError = typeof SerperError.Type

const SerperGroup = groupOf({
  name: "compatSerper",
  title: "Serper",
  programs: "For programs with a configurable address for Serper",
  endpoint: HttpApiEndpoint.post("search", "/compat/serper/search", {
    payload: SerperRequest,
    success: SerperAnswer,
    error: errorsOf(SerperError, statuses)
  }),
  summary: "Search as in Serper",
  description: "Serper's web search, with organic results alone: no knowledge graph, questions or related searches."
})

const answerTo =
  ({ num = defaultNum, ...asked }: SerperRequest) =>
  ({ results }: CompatResults): SerperAnswer => ({
    searchParameters: { ...asked, num, type: "search", engine: "quarry" },
    organic: results
      .slice(0, num)
      .map(({ position, snippet, title, url }) => ({ title, link: url, snippet, position })),
    credits: 1
  })

const decode = decoder(SerperRequest)

const search: SearchForm = {
  ...jsonForm("serper", SerperRequest),
  decode: (fields) =>
    Result.flatMap(decode(fields), (asked) =>
      Result.map(placeOf("hl", asked.hl), (place) => ({
        query: asked.q,
        ...place,
        ...(asked.gl === undefined ? {} : { geo: asked.gl }),
        page: Math.max(asked.page ?? 1, 1),
        num: asked.num ?? defaultNum,
        answer: answerTo(asked)
      }))
    )
}

const exampleRequest: SerperRequest = { q: exampleResults.query, num: 5 }

export const serper: CompatService = {
  name: "serper",
  routes: [{ group: SerperGroup, search }],
  toError: ({ _tag, message }) => {
    const statusCode = statuses[_tag]
    return { status: statusCode, body: { message, statusCode } satisfies SerperError }
  },
  examples: { compatSerper: { request: exampleRequest, response: answerTo(exampleRequest)(exampleResults) } }
}
