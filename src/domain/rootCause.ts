import { Predicate } from "effect"

/** The message of the first cause in a chain of errors. Drivers wrap the operating system's error in general ones. */
export const rootCauseMessage = (error: unknown): string => {
  if (Predicate.hasProperty(error, "cause") && error.cause !== undefined) return rootCauseMessage(error.cause)
  return error instanceof Error ? error.message : String(error)
}
