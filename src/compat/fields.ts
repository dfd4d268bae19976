import { Result, Schema } from "effect"
import { InvalidRequest } from "../domain/errors.ts"
import { parseSite } from "../domain/options/Sites.ts"
import { maxPageRows } from "../domain/pages/PagesRequest.ts"
import { CollapsedText, carriable, maxListEntries, type RawFields, Text } from "../domain/requests/fields.ts"
import { type LanguagePlace, placeOfLanguage } from "../domain/search/Language.ts"

export const LongQuery = CollapsedText.check(carriable, Schema.isMinLength(1, { message: "must not be empty" }))
  .pipe(
    Schema.annotateEncoded({ minLength: 1, description: "What to search for. A long query is truncated at a word." })
  )
  .pipe(Schema.annotateKey({ messageMissingKey: "is required" }))

export const countMessage = "must be a whole number, 0 or more"

/** Requesting more results than a target returns is not an error (R43). */
export const Count = Schema.Number.annotate({ message: countMessage }).check(
  Schema.isInt({ message: countMessage }),
  Schema.isGreaterThanOrEqualTo(0, { message: countMessage })
)

const addressesMessage = `must be a list of 1 to ${maxPageRows} addresses`

export const Addresses = Schema.Array(Schema.String)
  .annotate({ message: addressesMessage })
  .check(Schema.isBetweenLength(1, maxPageRows, { message: addressesMessage }))

/** Limited because each result is compared with every domain. These services accept more than Quarry's own API. */
export const domains = (description: string) =>
  Schema.optionalKey(
    Schema.Array(Text)
      .annotate({ message: "must be a list of domains", description })
      .check(Schema.isMaxLength(maxListEntries, { message: `must have at most ${maxListEntries} domains` }))
      .check(
        Schema.makeFilter(
          (sites) =>
            sites.every((site) => parseSite(site) !== undefined) || "must contain only domains, as in example.org"
        )
      )
  )

export const placeOf = (field: string, language: string | undefined): Result.Result<LanguagePlace, InvalidRequest> => {
  if (language === undefined) return Result.succeed({})
  return Result.fromNullishOr(placeOfLanguage(language), () =>
    InvalidRequest.fromIssues([{ field, message: "must be a language tag such as de or pt-br" }])
  )
}

/** Returns the named fields that have a value. Programs send empty strings and null for settings that are not set. */
export const present = (fields: RawFields, names: ReadonlyArray<string>): RawFields => {
  const isPresent = (name: string) => Object.hasOwn(fields, name) && fields[name] !== "" && fields[name] !== null
  return Object.fromEntries(names.filter(isPresent).map((name) => [name, fields[name]]))
}
