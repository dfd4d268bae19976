import { Effect, Result } from "effect"
import type { NotFound } from "../../domain/errors.ts"
import type { PageResult } from "../../domain/pages/PageBody.ts"
import { decoder } from "../../domain/requests/fields.ts"
import { statuses } from "../../http/errors.ts"
import { parseQueryOf } from "../../http/requests/query.ts"
import type { PageCompatError } from "../CompatError.ts"
import { type JinaAnswer, type JinaError, JinaFields, jinaFailures } from "./JinaGroup.ts"
import { type PageAnswer, type PageForm, toWholePage } from "./PageForm.ts"

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

/** Jina's reader. `jinaAddress.ts` has moved the address from the path into the parameter `url`. */
export const jina: PageForm = {
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

export const toJinaError = ({ _tag, message }: PageCompatError | NotFound) => {
  const { name, status } = jinaFailures[_tag]
  const code = statuses[_tag]
  const body: JinaError = { data: null, code, name, status, message, readableMessage: `${name}: ${message}` }
  return { status: code, body }
}
