import { Result } from "effect"
import { InvalidRequest, type Issue } from "./errors.ts"

/** The header with which a client marks its repetitions of one request (R44). */
export const idempotencyHeader = "Idempotency-Key"

const maxCharacters = 255

const issue = (message: string): Issue => ({ field: idempotencyHeader, message })

/** 400 for a key that is in use for another request. */
export const reusedKey = InvalidRequest.fromIssues([
  issue("belongs to another request of the last 24 hours; use a new key for each request")
])

/** 400 for a key whose answer was charged but not kept. To run the request again would charge it twice. */
export const lostAnswer = InvalidRequest.fromIssues([
  issue("belongs to a request whose answer was too large to be kept; use a new key to run it again")
])

/** Visible characters without the quote and the backslash, which a quoted string has behind a backslash. */
const quoted = /^"((?:[\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/

const bare = /^[\x21\x23-\x7e][\x21-\x7e]*$/

/** Reads a key that is sent as it is, or as a string of RFC 9651 in quotes. Both forms of a key are the same key. */
export const parseIdempotencyKey = (header: string): Result.Result<string, Issue> => {
  const key = quoted.exec(header)?.[1]?.replaceAll(/\\(["\\])/g, "$1") ?? (bare.test(header) ? header : "")
  return key.length >= 1 && key.length <= maxCharacters
    ? Result.succeed(key)
    : Result.fail(issue(`must be 1 to ${maxCharacters} visible ASCII characters, bare or as a quoted string`))
}
