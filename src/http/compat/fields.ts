import { Schema } from "effect"
import { CollapsedText, carriable, type RawFields } from "../../domain/requests/fields.ts"

export const LongQuery = CollapsedText.check(carriable, Schema.isMinLength(1, { message: "must not be empty" }))
  .pipe(
    Schema.annotateEncoded({ minLength: 1, description: "What to search for. A long query is truncated at a word." })
  )
  .pipe(Schema.annotateKey({ messageMissingKey: "is required" }))

const countMessage = "must be a whole number, 0 or more"

/** Requesting more results than a target returns is not an error (R43). */
export const Count = Schema.Number.annotate({ message: countMessage }).check(
  Schema.isInt({ message: countMessage }),
  Schema.isGreaterThanOrEqualTo(0, { message: countMessage })
)

/** Returns the named fields that have a value. Programs send empty strings and null for settings that are not set. */
export const present = (fields: RawFields, names: ReadonlyArray<string>): RawFields => {
  const isPresent = (name: string) => Object.hasOwn(fields, name) && fields[name] !== "" && fields[name] !== null
  return Object.fromEntries(names.filter(isPresent).map((name) => [name, fields[name]]))
}
