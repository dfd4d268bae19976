import { Schema } from "effect"
import { CollapsedText, carriable, type RawFields } from "../../domain/fields.ts"

/** Fields that several services have. */

/** A query before it is cut to the length that providers take. */
export const LongQuery = CollapsedText.check(carriable, Schema.isMinLength(1, { message: "must not be empty" }))
  .pipe(Schema.annotateEncoded({ minLength: 1, description: "What to search for. A long one is cut at a word." }))
  .pipe(Schema.annotateKey({ messageMissingKey: "is required" }))

const countMessage = "must be a whole number, 0 or more"

/** A number of results as clients write it. More than a target serves is no error (R43). */
export const Count = Schema.Number.annotate({ message: countMessage }).check(
  Schema.isInt({ message: countMessage }),
  Schema.isGreaterThanOrEqualTo(0, { message: countMessage })
)

/** The fields with these names that hold something: programs send empty text and null for a setting that is not set. */
export const present = (fields: RawFields, names: ReadonlyArray<string>): RawFields => {
  const isPresent = (name: string) => Object.hasOwn(fields, name) && fields[name] !== "" && fields[name] !== null
  return Object.fromEntries(names.filter(isPresent).map((name) => [name, fields[name]]))
}
