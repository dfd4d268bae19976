import { DateTime, Result, Schema, SchemaIssue, SchemaTransformation } from "effect"
import type { Issue } from "./errors.ts"
import { isCarriable, normalizeWhitespace } from "./text.ts"

/** How the fields of a request are read: each on its own, every failure kept (R6). */

/** The fields as they arrived: text from a query string (a list where one is repeated), any JSON from a body. */
export type RawFields = Readonly<Record<string, unknown>>

/** A field's value, or what is wrong with it. */
export type Reader<A> = (input: unknown) => Result.Result<A, string>

const issueMessage = SchemaIssue.makeFormatterStandardSchemaV1()

export const reader = <A>(schema: Schema.ConstraintDecoder<A>): Reader<A> => {
  const decode = Schema.decodeUnknownResult(schema)
  return (input) =>
    Result.mapError(decode(input), (error) => issueMessage(error.issue).issues[0]?.message ?? "is not valid")
}

export const Text = Schema.String.annotate({ message: "must be a string" })

/** Text in which whitespace is collapsed before anything else is asked of it (R10). */
export const CollapsedText = Text.pipe(
  Schema.decode(SchemaTransformation.transform({ decode: normalizeWhitespace, encode: (text) => text }))
)

export const wholeNumber = (maximum: number): string => `must be a whole number from 1 to ${maximum}`

/** Plain decimal digits in a query string: no sign, no fraction, no exponent (R5). */
export const digits = (minimum: number, maximum: number, message: string) =>
  Schema.String.annotate({ message })
    .check(
      Schema.makeFilter((text) => {
        const value = /^[0-9]+$/.test(text) ? Number(text) : Number.NaN
        return (value >= minimum && value <= maximum) || message
      })
    )
    .pipe(Schema.decodeTo(Schema.Number, SchemaTransformation.numberFromString))

export const carriable = Schema.makeFilter(
  (text: string) => isCarriable(text) || "must not hold a NUL character or a lone surrogate"
)

/** Stands for a value that could not be decoded. It is half of a character, so that no query string decodes to it. */
export const undecodable = "\udc00"

/** Reads fields one by one; `issues` holds what was wrong with those read so far. */
export const readFields = (raw: RawFields) => {
  const issues: Array<Issue> = []
  const read = <A, B>(name: string, reader: Reader<A>, absent: B): A | B => {
    const input = raw[name]
    if (input === undefined) return absent
    const value = input === undecodable ? Result.fail("must be percent-encoded UTF-8") : reader(input)
    if (Result.isSuccess(value)) return value.success
    issues.push({ field: name, message: Array.isArray(input) ? "must be one value, not several" : value.failure })
    return absent
  }
  return { issues, read }
}

const dateTime =
  /^([0-9]{4})-([0-9]{2})-([0-9]{2})(?:T[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?(?:Z|[+-][0-9]{2}:[0-9]{2}))?$/

const notMoment = "must be a date or a time with its zone in ISO 8601, such as 2026-01-31 or 2026-01-31T08:00:00Z"

/** The first millisecond of the year 10000, which has no ISO 8601 form with four digits. */
const endOfTimeMs = 253_402_300_800_000

/** A moment in Unix milliseconds; a date alone is its midnight in UTC. */
export const moment: Reader<number> = (input) => {
  const [text, year, month, day] = (typeof input === "string" && dateTime.exec(input)) || []
  if (text === undefined) return Result.fail(notMoment)
  // The 30th of February would be read as the 2nd of March.
  const lastDay = DateTime.toPartsUtc(DateTime.makeUnsafe({ year: Number(year), month: Number(month) + 1, day: 0 })).day
  // biome-ignore lint/style/noRestrictedGlobals: it reads a text and no clock.
  const millis = Date.parse(text)
  return Number(day) <= lastDay && millis >= 0 && millis < endOfTimeMs ? Result.succeed(millis) : Result.fail(notMoment)
}
