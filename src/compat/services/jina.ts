import { Effect, Result, Schema } from "effect"
import { HttpApiEndpoint } from "effect/http-api"
import type { NotFound } from "../../domain/errors.ts"
import type { PageResult } from "../../domain/pages/PageBody.ts"
import { decoder } from "../../domain/requests/fields.ts"
import { statuses } from "../../http/errors.ts"
import { parseQueryOf } from "../../http/requests/query.ts"
import { errorsOf, type PageCompatError } from "../CompatError.ts"
import type { CompatService } from "../CompatService.ts"
import { groupOf } from "../endpoints.ts"
import { examplePage } from "../examples.ts"
import { type PageAnswer, type PageForm, toWholePage } from "../PageForm.ts"

/** The address is in the path and the rest in headers, whose names the schema has in lower case. */
const JinaFields = Schema.Struct({
  url: Schema.String.pipe(Schema.annotateKey({ messageMissingKey: "is required: /compat/jina/https://example.org" })),
  accept: Schema.optionalKey(Schema.String),
  "x-return-format": Schema.optionalKey(
    Schema.Literals(["content", "markdown", "text"]).annotate({ message: "must be content, markdown or text" })
  ),
  "x-no-cache": Schema.optionalKey(Schema.String),
  "x-cache-tolerance": Schema.optionalKey(
    Schema.String.check(Schema.isPattern(/^\d{1,9}$/, { message: "must be a number of seconds" }))
  ),
  "x-with-links-summary": Schema.optionalKey(Schema.String)
})
type JinaFields = typeof JinaFields.Type

const text = Schema.optionalKey(Schema.String)

const JinaAnswer = Schema.Struct({
  code: Schema.Literal(200),
  status: Schema.Literal(20000),
  data: Schema.Struct({
    title: Schema.String,
    description: Schema.String,
    url: Schema.String.annotate({ description: "The address after redirects" }),
    content: Schema.String,
    publishedTime: text,
    links: Schema.optionalKey(Schema.Record(Schema.String, Schema.String))
  })
}).annotate({ identifier: "JinaAnswer", description: "A response in the format of Jina's reader" })
type JinaAnswer = typeof JinaAnswer.Type

const JinaError = Schema.Struct({
  data: Schema.Null,
  code: Schema.Int,
  name: Schema.String,
  status: Schema.Int,
  message: Schema.String,
  readableMessage: Schema.String
}).annotate({ identifier: "JinaError", description: "An error in the format of Jina's reader" })
type JinaError = typeof JinaError.Type

const jinaFailures: Readonly<
  Record<(PageCompatError | NotFound)["_tag"], { readonly name: string; readonly status: number }>
> = {
  invalid_request: { name: "ParamValidationError", status: 40001 },
  unsupported_geo: { name: "ParamValidationError", status: 40001 },
  unsupported_parameter: { name: "ParamValidationError", status: 40001 },
  unauthorized: { name: "AuthenticationRequiredError", status: 40103 },
  quota_exceeded: { name: "InsufficientBalanceError", status: 40203 },
  not_found: { name: "ResourceNotFoundError", status: 40401 },
  page_unreadable: { name: "AssertionFailureError", status: 42206 },
  rate_limited: { name: "RateLimitTriggeredError", status: 42903 },
  internal_error: { name: "InternalServerError", status: 50001 },
  upstream_error: { name: "UpstreamError", status: 50200 },
  upstream_timeout: { name: "UpstreamTimeoutError", status: 50400 }
}

const header = (name: string, description: string) => ({
  name,
  in: "header",
  required: false,
  description,
  schema: { type: "string" }
})

const parameters = [
  {
    name: "address",
    in: "path",
    required: true,
    description: "The page's address with its query string, as it is written",
    schema: { type: "string" }
  },
  header("X-Return-Format", "content (the default, with a head of metadata), markdown or text"),
  header("X-No-Cache", "true always fetches the page"),
  header("X-Cache-Tolerance", "Maximum age of a copy in seconds"),
  header("X-With-Links-Summary", "true adds the links of the main text")
]

const JinaGroup = groupOf({
  name: "compatJina",
  title: "Jina",
  programs: "For programs with a configurable address of Jina's reader",
  endpoint: HttpApiEndpoint.get("read", "/compat/jina/:address", {
    params: { address: Schema.String },
    success: JinaAnswer,
    error: errorsOf(JinaError, statuses, statuses.page_unreadable)
  }),
  summary: "Read a page as in Jina's reader",
  description:
    "Everything after /compat/jina/ is the page's address. The response is plain text, or JSON with Accept: " +
    "application/json. Costs a credit if the page was read.",
  parameters
})

const decode = decoder(JinaFields)

/** Reads an address that was percent-encoded as a whole. */
const addressOf = (written: string): string => {
  if (!/^https?%3a/i.test(written)) return written
  try {
    return decodeURIComponent(written)
  } catch {
    return written
  }
}

const linksOf = ({ links = [] }: PageResult): string =>
  links.length === 0 ? "" : `\n\nLinks/Buttons:\n${links.map(({ text, url }) => `- [${text}](${url})`).join("\n")}`

const toText = (page: PageResult): string => {
  const published = page.published === null ? "" : `Published Time: ${page.published}\n\n`
  return `Title: ${page.title ?? ""}\n\nURL Source: ${page.final_url}\n\n${published}Markdown Content:\n${page.content}`
}

const toJson = (page: PageResult): JinaAnswer => ({
  code: 200,
  status: 20000,
  data: {
    title: page.title ?? "",
    description: page.description ?? "",
    url: page.final_url,
    content: page.content,
    ...(page.published === null ? {} : { publishedTime: page.published }),
    ...(page.links === undefined ? {} : { links: Object.fromEntries(page.links.map(({ text, url }) => [text, url])) })
  }
})

const answerTo =
  (fields: JinaFields) =>
  (page: PageResult): PageAnswer => {
    if (/\bapplication\/json\b/i.test(fields.accept ?? "")) return { json: toJson(page) }
    const format = fields["x-return-format"] ?? "content"
    return { text: `${format === "content" ? toText(page) : page.content}${linksOf(page)}` }
  }

const isOn = (flag: string | undefined): boolean => flag !== undefined && !/^(?:false|0|none)$/i.test(flag)

const maxAgeOf = (fields: JinaFields): number | undefined => {
  if (isOn(fields["x-no-cache"])) return 0
  const tolerance = fields["x-cache-tolerance"]
  return tolerance === undefined ? undefined : Number(tolerance)
}

/** Jina's reader. The edge has moved the address from the path into the parameter `url`. */
const page: PageForm = {
  name: "jina",
  fields: Object.keys(JinaFields.fields),
  read: (request) =>
    Effect.map(Effect.fromResult(parseQueryOf(request)), (query) => ({
      ...request.headers,
      ...(query.url === undefined ? {} : { url: query.url })
    })),
  decode: (raw) =>
    Result.flatMap(decode(raw), (fields) => {
      const request = toWholePage({
        url: addressOf(fields.url),
        source: "compat:jina",
        format: fields["x-return-format"] === "text" ? "text" : "markdown",
        withLinks: isOn(fields["x-with-links-summary"]),
        maxAgeSeconds: maxAgeOf(fields)
      })
      return Result.map(request, (request) => ({ request, answer: answerTo(fields) }))
    })
}

const toError = ({ _tag, message }: PageCompatError | NotFound) => {
  const { name, status } = jinaFailures[_tag]
  const code = statuses[_tag]
  const body: JinaError = { data: null, code, name, status, message, readableMessage: `${name}: ${message}` }
  return { status: code, body }
}

export const jina: CompatService = {
  name: "jina",
  routes: [{ group: JinaGroup, page }],
  toError,
  examples: { compatJina: { response: toJson(examplePage) } }
}
