import { Effect, Result } from "effect"
import { InvalidRequest } from "../domain/errors.ts"
import { type RawFields, type Reader, readFields } from "../domain/fields.ts"

/**
 * Reads `max_characters` beside the arguments that `domain/` has read, and reports the issues of both together (R6).
 * An issue of `max_characters` replaces errors of the others that are no `InvalidRequest`.
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
  const issues = Result.isFailure(others) && others.failure instanceof InvalidRequest ? others.failure.issues : []
  return Effect.fail(InvalidRequest.fromIssues([...issues, ...own.issues]))
}
