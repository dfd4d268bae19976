import { Result } from "effect"
import { InvalidRequest, type Issue } from "../errors.ts"

export const idempotencyHeader = "Idempotency-Key"

const maxCharacters = 255

const issue = (message: string): Issue => ({ field: idempotencyHeader, message })

export const reusedKey = InvalidRequest.fromIssues([
  issue("was used for a different request in the last 24 hours; use a new key for each request")
])

/** The response was charged but not kept, and running the request again would charge it twice. */
export const lostAnswer = InvalidRequest.fromIssues([
  issue("belongs to a request whose response was too large to keep; use a new key to run it again")
])

/** Visible characters; a quote or backslash must be escaped with a backslash. */
const quoted = /^"((?:[\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/

const bare = /^[\x21\x23-\x7e][\x21-\x7e]*$/

/** Reads a bare key or a quoted RFC 9651 string. Both forms name the same key. */
export const parseIdempotencyKey = (header: string): Result.Result<string, Issue> => {
  const key = quoted.exec(header)?.[1]?.replaceAll(/\\(["\\])/g, "$1") ?? (bare.test(header) ? header : "")
  return key.length >= 1 && key.length <= maxCharacters
    ? Result.succeed(key)
    : Result.fail(issue(`must be 1 to ${maxCharacters} visible ASCII characters, bare or as a quoted string`))
}
