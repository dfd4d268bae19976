import { Result } from "effect"
import type { HttpRequest } from "../../../domain/providers/HttpDescription.ts"
import {
  type JsonTemplate,
  parseTemplate,
  placeholders,
  type Scalar,
  type Template
} from "../../../domain/providers/Template.ts"
import { isPrivateAddress, isWebAddress } from "../ProviderType.ts"

// Reads the request of a description. Each mistake becomes a fault with its place.

const maxParameters = 100
const maxBodyDepth = 8
const maxBodyMembers = 500

/** Set by the connection, or read by Quarry: another value would break the request or its response. */
const reservedHeaders =
  "accept-encoding connection content-length content-type expect host keep-alive te trailer transfer-encoding upgrade".split(
    " "
  )

export interface RequestFields {
  readonly method: "GET" | "POST"
  readonly url: string
  readonly query?: Readonly<Record<string, Scalar>>
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

export type Report = (path: string, problem: string) => void

const allPlaceholders = placeholders.map((name) => `{${name}}`).join(", ")

const readTemplate = (path: string, text: string, report: Report): Template => {
  const template = parseTemplate(text)
  if (Result.isSuccess(template)) return template.success
  report(path, `has ${template.failure}, which is not a placeholder; allowed are ${allPlaceholders}`)
  return []
}

const readScalar = (path: string, value: Scalar, report: Report): JsonTemplate =>
  typeof value === "string"
    ? { _tag: "template", template: readTemplate(path, value, report) }
    : { _tag: "constant", value }

interface Budget {
  members: number
}

const readBody = (path: string, value: unknown, report: Report, depth: number, budget: Budget): JsonTemplate => {
  budget.members -= 1
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean")
    return readScalar(path, value, report)
  if (typeof value !== "object" || value === null) return { _tag: "constant", value: null }
  if (depth === maxBodyDepth || budget.members < 0) {
    report(path, `must have at most ${maxBodyDepth} levels and ${maxBodyMembers} members`)
    return { _tag: "constant", value: null }
  }
  if (Array.isArray(value)) {
    const items = value.map((item, index) => readBody(`${path}.${index}`, item, report, depth + 1, budget))
    return { _tag: "list", items }
  }
  const members = Object.entries(value).map(
    ([name, member]) => [name, readBody(`${path}.${name}`, member, report, depth + 1, budget)] as const
  )
  return { _tag: "object", members }
}

/** Placeholders that most searches have no value for. An address has no parameter that could be left out. */
const optionNames: ReadonlySet<string> = new Set(["after", "before", "days", "domains"])

const urlRule =
  "must be an http(s) address without a user, password, query or fragment, with placeholders only in its path"

const readUrl = (path: string, url: string, { insecure, report, variables }: Context): Template => {
  const template = readTemplate(path, url, report)
  if (template.length === 0) return template
  const known = template.map((part) => {
    if (part._tag === "text") return part.text
    return part._tag === "variable" ? (variables.get(part.name) ?? "") : undefined
  })
  const first = known.indexOf(undefined)
  const isAddress = isWebAddress(known.map((text) => text ?? "x").join(""))
  const hasHost = first < 0 || /^https?:\/\/[^/\\?#]+\//i.test(known.slice(0, first).join(""))
  if (!isAddress || !hasHost) report(path, urlRule)
  else if (insecure !== true && !isPrivateAddress(known.map((text) => text ?? "x").join("")))
    report(path, 'must begin with https unless "insecure" is true')
  for (const part of template) {
    if (part._tag === "placeholder" && optionNames.has(part.name))
      report(path, `has {${part.name}}, for which most searches have no value; move it to the query or the body`)
  }
  return template
}

const readHeaders = (path: string, headers: RequestFields["headers"] = {}, { report, variables }: Context) => {
  const seen = new Set<string>()
  return Object.entries(headers).map(([name, value]) => {
    const place = `${path}.${name}`
    const lower = name.toLowerCase()
    if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(lower)) report(place, "must have the name of a header")
    if (reservedHeaders.includes(lower)) report(place, `is not allowed, nor are ${reservedHeaders.join(", ")}`)
    if (seen.has(lower)) report(place, "is there twice; names are compared without case")
    seen.add(lower)
    const template = readTemplate(place, value, report)
    for (const part of template) {
      const text = part._tag === "variable" ? (variables.get(part.name) ?? "") : part._tag === "text" ? part.text : ""
      if (!/^[ -~]*$/.test(text)) report(place, "must be printable ASCII characters and placeholders")
    }
    return [lower, template] as const
  })
}

interface Context {
  readonly insecure: boolean | undefined
  /** Environment variables by name. Their values are secrets. */
  readonly variables: ReadonlyMap<string, string>
  readonly report: Report
}

export const readRequest = (path: string, fields: RequestFields, context: Context): HttpRequest => {
  const { report } = context
  const { body, headers, method, query = {}, url } = fields
  if (method === "GET" && body !== undefined) report(`${path}.body`, "is only allowed with POST")
  for (const [member, parameters] of Object.entries({ query, headers: headers ?? {} })) {
    if (Object.keys(parameters).length > maxParameters)
      report(`${path}.${member}`, `must have at most ${maxParameters} members`)
  }
  return {
    method,
    url: readUrl(`${path}.url`, url, context),
    query: Object.entries(query).map(
      ([name, value]) => [name, readScalar(`${path}.query.${name}`, value, report)] as const
    ),
    headers: readHeaders(`${path}.headers`, headers, context),
    body: body === undefined ? undefined : readBody(`${path}.body`, body, report, 0, { members: maxBodyMembers })
  }
}
