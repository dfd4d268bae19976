import { Predicate, Result } from "effect"
import type { RawFields } from "../domain/requests/fields.ts"
import { fail, isId, maxIdCharacters, maxQuotedCharacters, quote, type RpcError, rpcCodes } from "./message.ts"
import { currentRevision } from "./revisions.ts"

// Revision 2026-07-28 and later: each request is independent. `_meta` names revision, client and capabilities.

const revisionKey = "io.modelcontextprotocol/protocolVersion"
const clientKey = "io.modelcontextprotocol/clientInfo"
const capabilitiesKey = "io.modelcontextprotocol/clientCapabilities"

export type RequestHeaders = Readonly<Record<string, string | undefined>>

export interface StatelessRequest {
  readonly id: string | number
  readonly method: string
  readonly params: RawFields
  readonly client: string | undefined
  readonly progressToken: string | number | undefined
}

const isoDate = /^\d{4}-\d{2}-\d{2}$/

const isStatelessRevision = (text: string | undefined): boolean =>
  text !== undefined && isoDate.test(text) && text >= currentRevision

const metaOf = (message: unknown): RawFields | undefined =>
  Predicate.isReadonlyObject(message) &&
  Predicate.isReadonlyObject(message.params) &&
  Predicate.isReadonlyObject(message.params._meta)
    ? message.params._meta
    : undefined

const namesRevision = (message: unknown): boolean => {
  const meta = metaOf(message)
  return meta !== undefined && revisionKey in meta
}

/** True if `_meta` or the header names such a revision. A bare `initialize` opens an earlier session. */
export const isStateless = (headers: RequestHeaders, body: unknown): boolean =>
  (Array.isArray(body) ? body.some(namesRevision) : namesRevision(body)) ||
  (isStatelessRevision(headers["mcp-protocol-version"]) &&
    !(Predicate.isReadonlyObject(body) && body.method === "initialize"))

const invalidShape =
  `Invalid Request: protocol ${currentRevision} takes one JSON-RPC 2.0 request or notification, with an id of at most ` +
  `${maxIdCharacters} characters`

const isSingleMessage = (body: unknown): body is RawFields => {
  if (!Predicate.isReadonlyObject(body) || body.jsonrpc !== "2.0" || typeof body.method !== "string") return false
  return ("id" in body ? isId(body.id) : true) && (body.params === undefined || Predicate.isReadonlyObject(body.params))
}

const isClient = (value: unknown): boolean =>
  Predicate.isReadonlyObject(value) && typeof value.name === "string" && typeof value.version === "string"

const metaIssue = (meta: RawFields | undefined): string | undefined => {
  if (meta === undefined) return `_meta is missing. It must be an object with ${revisionKey} and ${capabilitiesKey}`
  if (!(revisionKey in meta)) return `_meta: ${revisionKey} is missing`
  if (!(capabilitiesKey in meta)) return `_meta: ${capabilitiesKey} is missing`
  if (typeof meta[revisionKey] !== "string") return `_meta: ${revisionKey} must be a string`
  if (!Predicate.isReadonlyObject(meta[capabilitiesKey])) return `_meta: ${capabilitiesKey} must be an object`
  if (clientKey in meta && !isClient(meta[clientKey])) return `_meta: ${clientKey} must have a name and a version`
  if (meta.progressToken !== undefined && !isId(meta.progressToken)) {
    return `_meta: progressToken must be an integer or a string of at most ${maxIdCharacters} characters`
  }
  return undefined
}

const encodedValue = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/

/** Decodes a header that may be Base64; undefined if the encoding is broken. */
const decodeHeader = (text: string): string | undefined => {
  if (!text.startsWith("=?base64?") || !text.endsWith("?=")) return text
  const [, base64] = encodedValue.exec(text) ?? []
  if (base64 === undefined || base64.length % 4 !== 0) return undefined
  const bytes = Buffer.from(base64, "base64")
  const decoded = bytes.toString()
  return Buffer.from(decoded).equals(bytes) ? decoded : undefined
}

const missing = (header: string): string => `Header mismatch: the header ${header} is missing`

const differs = (header: string, body: string, value: string): string =>
  `Header mismatch: ${header} must be the body's ${body}, ${quote(value)}`

const namedBy = new Map([
  ["tools/call", "name"],
  ["prompts/get", "name"],
  ["resources/read", "uri"]
])

const differingHeader = (headers: RequestHeaders, method: string, asked: string): string | undefined => {
  const { "mcp-method": named = method, "mcp-protocol-version": version = asked } = headers
  if (version !== asked) return differs("MCP-Protocol-Version", `_meta ${revisionKey}`, asked)
  return named === method ? undefined : differs("Mcp-Method", "method", method)
}

const missingHeader = (headers: RequestHeaders, method: string, params: RawFields): string | undefined => {
  if (headers["mcp-protocol-version"] === undefined) return missing("MCP-Protocol-Version")
  if (headers["mcp-method"] === undefined) return missing("Mcp-Method")
  const field = namedBy.get(method)
  if (field === undefined) return undefined
  const value = params[field]
  const header = headers["mcp-name"]
  if (header === undefined) return typeof value === "string" ? missing("Mcp-Name") : undefined
  const name = decodeHeader(header)
  if (name === undefined) return "Header mismatch: Mcp-Name is not valid Base64"
  return typeof value !== "string" || name === value ? undefined : differs("Mcp-Name", `params.${field}`, value)
}

/** Checks in the order of the official server. */
const judge = (
  headers: RequestHeaders,
  { asked, id, method, params }: Readonly<{ asked: string; id: string | number; method: string; params: RawFields }>
) => {
  const differing = differingHeader(headers, method, asked)
  if (differing !== undefined) return fail(rpcCodes.headerMismatch, differing, { id })
  if (asked !== currentRevision) {
    const data = { supported: [currentRevision], requested: asked.slice(0, maxQuotedCharacters) }
    return fail(rpcCodes.unsupportedVersion, "Unsupported protocol version", { id, data })
  }
  const absent = missingHeader(headers, method, params)
  return absent === undefined ? undefined : fail(rpcCodes.headerMismatch, absent, { id })
}

/** Undefined for notifications, which have no meaning over HTTP. */
export const readStateless = (
  headers: RequestHeaders,
  body: unknown
): Result.Result<StatelessRequest | undefined, RpcError> => {
  if (!isSingleMessage(body)) return fail(rpcCodes.invalidRequest, invalidShape)
  if (!isId(body.id)) return Result.succeed(undefined)
  const { id } = body
  const method = String(body.method)
  const params = Predicate.isReadonlyObject(body.params) ? body.params : {}
  const meta = metaOf(body)
  const wrongMeta = metaIssue(meta)
  if (meta === undefined || wrongMeta !== undefined) {
    return fail(rpcCodes.invalidParams, `Invalid params: ${wrongMeta}`, { id })
  }
  const error = judge(headers, { asked: String(meta[revisionKey]), id, method, params })
  if (error !== undefined) return error
  const { [clientKey]: client, progressToken } = meta
  return Result.succeed({
    id,
    method,
    params,
    client: Predicate.isReadonlyObject(client) ? String(client.name) : undefined,
    progressToken: isId(progressToken) ? progressToken : undefined
  })
}
