import { Redacted, Schema } from "effect"
import * as UpstreamRequest from "../UpstreamRequest.ts"
import * as ReaderApi from "./ReaderApi.ts"

const text = Schema.optionalKey(Schema.NullOr(Schema.String))

const Response = Schema.Struct({
  code: Schema.Literal(200),
  data: Schema.Struct({ title: text, description: text, url: text, content: text, publishedTime: text })
})

/** The page's address is in the body, so that it does not appear in a path. */
export const type = ReaderApi.type({
  url: "https://r.jina.ai",
  needsKey: false,
  request: (page, { key, timeoutMs, url }) =>
    UpstreamRequest.post(
      `${url}/`,
      { url: page.href },
      {
        "x-timeout": String(Math.max(1, Math.floor(timeoutMs / 1000))),
        ...(key === undefined ? {} : { authorization: `Bearer ${Redacted.value(key)}` })
      }
    ),
  response: Response,
  outcome: ({ data: { content, description, publishedTime, title, url } }) => ({
    markdown: content ?? "",
    url,
    title,
    description,
    published: publishedTime
  }),
  dialect: { statuses: { 402: { reason: "quota" } } }
})
