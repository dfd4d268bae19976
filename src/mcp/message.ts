import { Result } from "effect"

/** Parsing of request bodies into JSON-RPC messages, before the library reads them. */

/** An error of JSON-RPC with the HTTP status of its response. */
export interface MessageError {
  readonly status: 400 | 403 | 405
  readonly code: number
  readonly message: string
}

const parseError = -32700
const invalidRequest = -32600
/** The first code of the range that JSON-RPC leaves to implementations. */
const serverError = -32000

/** Few clients send batches, and each message may call a tool: one request must not run thousands of searches. */
const maxBatchMessages = 10

/**
 * The most values in a body, at any depth: 50 searches with every field have 400. The library copies the objects of a message
 * several times.
 */
const maxValues = 5_000

/** Longer than the ids of any client. Responses repeat the id. */
const maxIdCharacters = 256

/** The first revision of the protocol without batches. Revisions are ISO dates, which compare as text. */
const firstWithoutBatches = "2025-06-18"

const fail = (code: number, message: string): Result.Result<never, MessageError> =>
  Result.fail({ status: 400, code, message })

/** The error for pages of other origins: DNS rebinding could send them here. The protocol asks for a 403. */
export const originNotAllowed: MessageError = {
  status: 403,
  code: serverError,
  message: "Pages of other origins may not call this endpoint."
}

/** The error for GET and DELETE (R35). Clients take a 405 as "no stream, no session", and other statuses as a failure. */
export const methodNotAllowed: MessageError = {
  status: 405,
  code: serverError,
  message: "Method not allowed: there is no stream to listen to and no session to end. Send messages by POST."
}

export const toJsonRpcError = ({ code, message }: MessageError) => ({
  jsonrpc: "2.0" as const,
  id: null,
  error: { code, message }
})

const idsOf = (messages: ReadonlyArray<unknown>): ReadonlyArray<unknown> =>
  messages.flatMap((message) =>
    typeof message === "object" && message !== null && "method" in message && "id" in message ? [message.id] : []
  )

/** Counts without recursion, because a body has room for values that are nested 500,000 deep. */
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

/**
 * Parses the body as one message or a batch of messages. Ids must differ within a batch, because the library would run
 * the second of two requests with one id and never answer it.
 */
export const readMessages = (
  text: string,
  revision: string | undefined,
  isMessage: (value: unknown) => boolean
): Result.Result<unknown, MessageError> => {
  const parsed = Result.try({ try: (): unknown => JSON.parse(text), catch: () => "no JSON" })
  if (Result.isFailure(parsed)) return fail(parseError, "Parse error: the body is not JSON")
  const body = parsed.success
  if (hasTooManyValues(body)) return fail(invalidRequest, `Invalid Request: a body has at most ${maxValues} values`)
  if (Array.isArray(body)) {
    if (revision !== undefined && revision >= firstWithoutBatches) {
      return fail(invalidRequest, `Invalid Request: protocol ${firstWithoutBatches} and later have no batches`)
    }
    if (body.length < 1 || body.length > maxBatchMessages) {
      return fail(invalidRequest, `Invalid Request: a batch has 1 to ${maxBatchMessages} messages`)
    }
    const ids = idsOf(body)
    if (new Set(ids).size < ids.length) {
      return fail(invalidRequest, "Invalid Request: two requests of a batch have one id")
    }
  }
  const messages: ReadonlyArray<unknown> = Array.isArray(body) ? body : [body]
  if (idsOf(messages).some((id) => typeof id === "string" && id.length > maxIdCharacters)) {
    return fail(invalidRequest, `Invalid Request: an id has at most ${maxIdCharacters} characters`)
  }
  if (!messages.every(isMessage)) return fail(invalidRequest, "Invalid Request: this is no JSON-RPC 2.0 message")
  return Result.succeed(body)
}
