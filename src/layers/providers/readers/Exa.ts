import { Redacted, Schema } from "effect"
import * as UpstreamRequest from "../UpstreamRequest.ts"
import * as ReaderApi from "./ReaderApi.ts"

const text = Schema.optionalKey(Schema.NullOr(Schema.String))

const Status = Schema.Struct({
  status: Schema.String,
  error: Schema.optionalKey(
    Schema.NullOr(Schema.Struct({ httpStatusCode: Schema.optionalKey(Schema.NullOr(Schema.Number)) }))
  )
})

const Response = Schema.Struct({
  results: Schema.Array(Schema.Struct({ url: text, title: text, author: text, publishedDate: text, text })),
  statuses: Schema.optionalKey(Schema.Array(Status))
})

export const type = ReaderApi.type({
  url: "https://api.exa.ai",
  needsKey: true,
  request: (page, { key, url }) =>
    UpstreamRequest.post(
      `${url}/contents`,
      { urls: [page.href], text: true },
      key === undefined ? {} : { "x-api-key": Redacted.value(key) }
    ),
  response: Response,
  outcome: ({ results: [result], statuses = [] }) => {
    const [status] = statuses
    const httpStatus = status?.error?.httpStatusCode ?? undefined
    const reason = status?.status === "error" ? ReaderApi.reasonOfSiteStatus(httpStatus) : undefined
    if (reason !== undefined) return { reason, httpStatus }
    return {
      markdown: result?.text ?? "",
      url: result?.url,
      title: result?.title,
      author: result?.author,
      published: result?.publishedDate
    }
  }
})
