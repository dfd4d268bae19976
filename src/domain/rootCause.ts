import { Predicate } from "effect"

/** The message of the innermost cause. Drivers wrap errors of the operating system in generic ones. */
export const rootCauseMessage = (error: unknown): string => {
  if (Predicate.hasProperty(error, "cause") && error.cause !== undefined) return rootCauseMessage(error.cause)
  return error instanceof Error ? error.message : String(error)
}
