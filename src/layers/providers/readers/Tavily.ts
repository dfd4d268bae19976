import { Redacted, Schema } from "effect"
import * as UpstreamRequest from "../UpstreamRequest.ts"
import * as ReaderApi from "./ReaderApi.ts"

const Response = Schema.Struct({
  results: Schema.Array(Schema.Struct({ raw_content: Schema.optionalKey(Schema.NullOr(Schema.String)) })),
  failed_results: Schema.optionalKey(Schema.Array(Schema.Unknown))
})

export const type = ReaderApi.type({
  url: "https://api.tavily.com",
  needsKey: true,
  request: (page, { key, url }) =>
    UpstreamRequest.post(
      `${url}/extract`,
      { urls: [page.href], extract_depth: "basic", format: "markdown" },
      key === undefined ? {} : { authorization: `Bearer ${Redacted.value(key)}` }
    ),
  response: Response,
  outcome: ({ results: [result] }) => ({ markdown: result?.raw_content ?? "" }),
  dialect: { statuses: { 432: { reason: "quota" }, 433: { reason: "quota" } } }
})
