import { Effect, Result } from "effect"
import { InvalidRequest } from "../domain/errors.ts"
import { type RawFields, type Reader, readFields } from "../domain/fields.ts"

/**
 * A tool's own argument beside those that `domain/` reads, with the failures of both told together (R6). Where the
 * others fail later than in plain validation, a failure of this one comes first.
 */
export const withMaxCharacters = <A, E>(
  args: RawFields,
  read: Reader<number>,
  fallback: number,
  others: Result.Result<A, E | InvalidRequest>
): Effect.Effect<readonly [A, number], E | InvalidRequest> => {
  const own = readFields(args)
  const characters = own.read("max_characters", read, fallback)
  if (own.issues.length === 0) return Effect.fromResult(Result.map(others, (value) => [value, characters] as const))
  const found = Result.isFailure(others) && others.failure instanceof InvalidRequest ? others.failure.issues : []
  return Effect.fail(InvalidRequest.fromIssues([...found, ...own.issues]))
}
