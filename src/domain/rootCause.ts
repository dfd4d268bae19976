import { Predicate } from "effect"

/** The most telling text of a chain of causes: drivers wrap what the operating system said in general phrases. */
export const rootCauseMessage = (error: unknown): string => {
  if (Predicate.hasProperty(error, "cause") && error.cause !== undefined) return rootCauseMessage(error.cause)
  return error instanceof Error ? error.message : String(error)
}
