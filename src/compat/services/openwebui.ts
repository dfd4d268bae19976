import { Result, Schema } from "effect"
import { HttpApiEndpoint } from "effect/http-api"
import { decoder } from "../../domain/requests/fields.ts"
import { defaultNum } from "../../domain/search/SearchRequest.ts"
import { PageUnreadable } from "../../http/errors.ts"
import { ownErrors, type PageCompatError } from "../CompatError.ts"
import type { CompatService } from "../CompatService.ts"
import { groupOf } from "../endpoints.ts"
import { exampleAddress, examplePages, exampleResults } from "../examples.ts"
import { Addresses, Count, LongQuery } from "../fields.ts"
import { errorOfRow, type PagesForm, type ReadPages, toWholePage } from "../PageForm.ts"
import { type CompatResults, jsonForm, type SearchForm } from "../SearchForm.ts"

const OpenWebUiRequest = Schema.Struct({
  query: LongQuery,
  count: Schema.optionalKey(Count.annotate({ description: "Maximum number of results; 10 if absent." }))
}).annotate({ identifier: "OpenWebUiRequest", message: "the body must be a JSON object with a query" })
type OpenWebUiRequest = typeof OpenWebUiRequest.Type

const OpenWebUiAnswer = Schema.Array(
  Schema.Struct({ link: Schema.String, title: Schema.String, snippet: Schema.String })
).annotate({ identifier: "OpenWebUiAnswer", description: "A response in the format of Open WebUI's external engine" })
type OpenWebUiAnswer = typeof OpenWebUiAnswer.Type

const OpenWebUiGroup = groupOf({
  name: "compatOpenWebUi",
  title: "Open WebUI",
  programs: "For Open WebUI's external search engine",
  endpoint: HttpApiEndpoint.post("search", "/compat/openwebui", {
    payload: OpenWebUiRequest,
    success: OpenWebUiAnswer,
    error: ownErrors
  }),
  summary: "Search as an external engine for Open WebUI",
  description: "The search that Open WebUI sends to the address in EXTERNAL_WEB_SEARCH_URL."
})

const answerUpTo =
  (count: number) =>
  ({ results }: CompatResults): OpenWebUiAnswer =>
    results.slice(0, count).map(({ snippet, title, url }) => ({ link: url, title, snippet }))

const decode = decoder(OpenWebUiRequest)

const search: SearchForm = {
  ...jsonForm("openwebui", OpenWebUiRequest),
  decode: (fields) =>
    Result.map(decode(fields), ({ count = defaultNum, query }) => ({ query, num: count, answer: answerUpTo(count) }))
}

const OpenWebUiLoadRequest = Schema.Struct({
  urls: Addresses.pipe(Schema.annotateKey({ messageMissingKey: "is required" }))
}).annotate({ identifier: "OpenWebUiLoadRequest", message: "the body must be a JSON object with urls" })
type OpenWebUiLoadRequest = typeof OpenWebUiLoadRequest.Type

const OpenWebUiLoadAnswer = Schema.Array(
  Schema.Struct({
    page_content: Schema.String,
    metadata: Schema.Struct({ source: Schema.String, title: Schema.String })
  })
).annotate({
  identifier: "OpenWebUiLoadAnswer",
  description: "The pages that were read, in the format of Open WebUI's external loader"
})
type OpenWebUiLoadAnswer = typeof OpenWebUiLoadAnswer.Type

const OpenWebUiLoadGroup = groupOf({
  name: "compatOpenWebUiLoad",
  title: "Open WebUI, pages",
  programs: "For Open WebUI's external web loader",
  endpoint: HttpApiEndpoint.post("load", "/compat/openwebui/load", {
    payload: OpenWebUiLoadRequest,
    success: OpenWebUiLoadAnswer,
    error: [...ownErrors, PageUnreadable]
  }),
  summary: "Read pages as an external loader for Open WebUI",
  description:
    "The request that Open WebUI sends to EXTERNAL_WEB_LOADER_URL. Pages that cannot be read are left out; if " +
    "none can be read, the response is the first page's error. Costs a credit for each page that was read."
})

const loadAnswer = ({ rows }: ReadPages): Result.Result<OpenWebUiLoadAnswer, PageCompatError> => {
  const read = rows.flatMap((row) =>
    row.status === "ok"
      ? [{ page_content: row.content, metadata: { source: row.url, title: row.title ?? row.final_url } }]
      : []
  )
  const failed = rows.find((row) => row.status === "error")
  return read.length === 0 && failed?.status === "error" ? Result.fail(errorOfRow(failed)) : Result.succeed(read)
}

const decodeLoad = decoder(OpenWebUiLoadRequest)

const load: PagesForm<PageCompatError> = {
  ...jsonForm("openwebui", OpenWebUiLoadRequest),
  decode: (fields) =>
    Result.map(decodeLoad(fields), ({ urls }) => ({
      rows: urls.map((url) => toWholePage({ url, source: "compat:openwebui" })),
      answer: loadAnswer
    }))
}

export const openwebui: CompatService = {
  name: "openwebui",
  routes: [
    { group: OpenWebUiGroup, search },
    { group: OpenWebUiLoadGroup, pages: load }
  ],
  examples: {
    compatOpenWebUi: {
      request: { query: exampleResults.query, count: 5 } satisfies OpenWebUiRequest,
      response: answerUpTo(5)(exampleResults)
    },
    compatOpenWebUiLoad: {
      request: { urls: [exampleAddress] } satisfies OpenWebUiLoadRequest,
      response: Result.getOrThrow(loadAnswer(examplePages))
    }
  }
}
