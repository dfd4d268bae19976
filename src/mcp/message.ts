import { Result } from "effect"

/** What of a body is a message of the protocol, judged before the library sees any of it. */

/** A refusal by JSON-RPC's own codes. */
export interface Refused {
  readonly status: 400 | 403 | 405
  readonly code: number
  readonly message: string
}

const parseError = -32700
const invalidRequest = -32600
/** Of the range that JSON-RPC leaves to implementations. */
const serverError = -32000

/** Few clients batch, and each message may be a tool's call: one request must not be thousands of searches. */
const maxBatchMessages = 10

/** The first revision without batches. Revisions are dates: text compares them. */
const withoutBatches = "2025-06-18"

const refuse = (code: number, message: string): Result.Result<never, Refused> =>
  Result.fail({ status: 400, code, message })

/** A page of another origin may be one that was rebound to this address. The protocol asks for a 403. */
export const foreignOrigin: Refused = {
  status: 403,
  code: serverError,
  message: "Pages of other origins may not call this endpoint."
}

/** No stream and no session outlives a request. Clients take a 405 for that, and any other status for an error. */
export const onlyPost: Refused = {
  status: 405,
  code: serverError,
  message: "Method not allowed: there is no stream to listen to and no session to end. Send messages by POST."
}

export const refusal = ({ code, message }: Refused) => ({ jsonrpc: "2.0" as const, id: null, error: { code, message } })

const idsOf = (messages: ReadonlyArray<unknown>): ReadonlyArray<unknown> =>
  messages.flatMap((message) =>
    typeof message === "object" && message !== null && "method" in message && "id" in message ? [message.id] : []
  )

/**
 * The body as one message or a batch of them; `isMessage` knows their shape. Ids must differ within a batch: the second
 * of two requests with one id would be run and never answered.
 */
export const readMessages = (
  text: string,
  revision: string | undefined,
  isMessage: (value: unknown) => boolean
): Result.Result<unknown, Refused> => {
  const parsed = Result.try({ try: (): unknown => JSON.parse(text), catch: () => "no JSON" })
  if (Result.isFailure(parsed)) return refuse(parseError, "Parse error: the body is not JSON")
  const body = parsed.success
  if (Array.isArray(body)) {
    if (revision !== undefined && revision >= withoutBatches) {
      return refuse(invalidRequest, `Invalid Request: protocol ${withoutBatches} and later have no batches`)
    }
    if (body.length < 1 || body.length > maxBatchMessages) {
      return refuse(invalidRequest, `Invalid Request: a batch has 1 to ${maxBatchMessages} messages`)
    }
    const ids = idsOf(body)
    if (new Set(ids).size < ids.length) {
      return refuse(invalidRequest, "Invalid Request: two requests of a batch have one id")
    }
  }
  const messages: ReadonlyArray<unknown> = Array.isArray(body) ? body : [body]
  if (!messages.every(isMessage)) return refuse(invalidRequest, "Invalid Request: this is no JSON-RPC 2.0 message")
  return Result.succeed(body)
}
