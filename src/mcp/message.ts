import { Predicate, Result } from "effect"
import { HttpServerResponse } from "effect/http"
import type { RawFields } from "../domain/requests/fields.ts"
import { firstWithoutBatches } from "./revisions.ts"

export interface RpcError {
  readonly status: 400 | 403 | 405
  readonly code: number
  readonly message: string
  readonly id: string | number | null
  readonly data?: unknown
}

export const rpcCodes = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  serverError: -32000,
  headerMismatch: -32020,
  unsupportedVersion: -32022
} as const

/** Each message may run up to 50 searches. */
const maxBatchMessages = 10

/** Counts values at any depth. 50 searches with every field have 400. */
const maxValues = 5_000

export const maxIdCharacters = 256

export const isId = (id: unknown): id is string | number =>
  typeof id === "string" ? id.length <= maxIdCharacters : Number.isSafeInteger(id)

/** Reads `tools/call` parameters; undefined if they are malformed. */
export const readCall = ({ arguments: args = {}, name }: RawFields) =>
  typeof name === "string" && Predicate.isReadonlyObject(args) ? { name, args } : undefined

export const maxQuotedCharacters = 64

export const quote = (text: string): string => JSON.stringify(text.slice(0, maxQuotedCharacters))

export const unknownTool = (name: string): string => `There is no tool ${quote(name)}`

export const fail = (
  code: number,
  message: string,
  more?: { readonly id?: string | number; readonly data?: unknown }
): Result.Result<never, RpcError> => Result.fail({ status: 400, code, message, id: null, ...more })

/** A requestError of the request as a whole, before any of its messages is answered. */
export const requestError = (status: 403 | 405, message: string): RpcError => ({
  status,
  code: rpcCodes.serverError,
  message,
  id: null
})

/** Protects against DNS rebinding; the protocol requires a 403. */
export const originNotAllowed = requestError(403, "Pages of other origins may not call this endpoint.")

/** For GET and DELETE (R35). Clients take a 405 as "no stream, no session" and other statuses as a failure. */
export const methodNotAllowed = requestError(
  405,
  "Method not allowed: there is no stream to listen to and no session to end. Send messages by POST."
)

const invalid = (message: string): RpcError => ({
  status: 400,
  code: rpcCodes.invalidRequest,
  message: `Invalid Request: ${message}`,
  id: null
})

export const noSuchTools = (names: ReadonlyArray<string>): RpcError =>
  invalid(`the address names no tool in tools. The tools are ${names.join(", ")}.`)

export const toJsonRpcError = ({ code, data, id, message }: Omit<RpcError, "status">) => ({
  jsonrpc: "2.0" as const,
  id,
  error: { code, message, ...(data === undefined ? {} : { data }) }
})

export const toErrorResponse = (error: RpcError): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.jsonUnsafe(toJsonRpcError(error), { status: error.status })

const idsOf = (messages: ReadonlyArray<unknown>): ReadonlyArray<unknown> =>
  messages.flatMap((message) =>
    Predicate.isReadonlyObject(message) && "method" in message && "id" in message ? [message.id] : []
  )

/** Iterative, because values may be nested 500,000 deep. */
const hasTooManyValues = (body: unknown): boolean => {
  const waiting = [body]
  let count = 0
  while (waiting.length > 0) {
    const value = waiting.pop()
    if (typeof value !== "object" || value === null) continue
    for (const member of Object.values(value)) {
      if (++count > maxValues) return true
      waiting.push(member)
    }
  }
  return false
}

export const parseBody = (text: string): Result.Result<unknown, RpcError> => {
  const parsed = Result.try({ try: (): unknown => JSON.parse(text), catch: () => "no JSON" })
  if (Result.isFailure(parsed)) return fail(rpcCodes.parseError, "Parse error: the body is not JSON")
  if (!hasTooManyValues(parsed.success)) return Result.succeed(parsed.success)
  return Result.fail(invalid(`a body has at most ${maxValues} values`))
}

/** IDs in a batch must be unique: the library would never answer the second of two equal IDs. */
export const checkMessages = (
  body: unknown,
  revision: string | undefined,
  isMessage: (value: unknown) => boolean
): RpcError | undefined => {
  if (Array.isArray(body)) {
    if (revision !== undefined && revision >= firstWithoutBatches) {
      return invalid(`protocol ${firstWithoutBatches} and later have no batches`)
    }
    if (body.length < 1 || body.length > maxBatchMessages) {
      return invalid(`a batch has 1 to ${maxBatchMessages} messages`)
    }
    const ids = idsOf(body)
    if (new Set(ids).size < ids.length) return invalid("two requests of a batch have the same id")
  }
  const messages: ReadonlyArray<unknown> = Array.isArray(body) ? body : [body]
  if (idsOf(messages).some((id) => typeof id === "string" && id.length > maxIdCharacters)) {
    return invalid(`an id has at most ${maxIdCharacters} characters`)
  }
  return messages.every(isMessage) ? undefined : invalid("this is not a JSON-RPC 2.0 message")
}
