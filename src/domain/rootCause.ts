import { Predicate } from "effect"

/** Drivers wrap the errors of the operating system in generic errors. */
export const rootCauseMessage = (error: unknown): string => {
  if (Predicate.hasProperty(error, "cause") && error.cause !== undefined) return rootCauseMessage(error.cause)
  return error instanceof Error ? error.message : String(error)
}
