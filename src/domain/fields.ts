import { DateTime, Effect, Result, Schema, type SchemaAST, SchemaIssue, SchemaTransformation } from "effect"
import { InvalidRequest, type Issue } from "./errors.ts"
import { isCarriable, normalizeWhitespace } from "./text.ts"

/** Decoding of a request's fields by its schema: each field by itself, with every failure reported (R6). */

/** The fields as they arrived: text from a query string (a list where one is repeated), any JSON from a body. */
export type RawFields = Readonly<Record<string, unknown>>

/** With these options a decoder reports every failure together. */
export const reportAll = { errors: "all" } as const

/** Stands for a value that could not be decoded. It is half of a character, so that no query string decodes to it. */
export const undecodable = "\udc00"

/** A parameter that is no percent-encoded UTF-8: a list, so that no schema of a single value takes it. */
export const undecodableValue: ReadonlyArray<string> = [undecodable]

const notOneValue = (value: ReadonlyArray<unknown>): string =>
  value.length === 1 && value[0] === undecodable ? "must be percent-encoded UTF-8" : "must be one value, not several"

/** A rule over several fields. It takes them decoded or as they arrived, because it is judged beside other failures. */
export type FieldsRule = (fields: RawFields) => Issue | undefined

const besideFailures = "quarry/besideFailures"

/** A check of a struct that is judged even when fields fail: a plain check runs only after every field is valid (R6). */
export const acrossFields = (rule: FieldsRule) =>
  Schema.makeFilter(
    (fields: object) => {
      const issue = rule({ ...fields })
      return issue === undefined || { path: [issue.field], issue: issue.message }
    },
    { [besideFailures]: rule }
  )

const rulesOf = (failure: SchemaIssue.Issue): ReadonlyArray<FieldsRule> =>
  failure._tag === "Composite"
    ? (failure.ast.checks ?? []).flatMap(({ annotations }) => {
        const rule = annotations?.[besideFailures]
        return typeof rule === "function" ? [rule as FieldsRule] : [] // Only `acrossFields` sets it.
      })
    : []

/** The names of the fields of a struct. */
const namesIn = (ast: SchemaAST.AST): ReadonlyArray<string> =>
  ast._tag === "Objects" ? ast.propertySignatures.map(({ name }) => String(name)) : []

const formatIssue = SchemaIssue.makeFormatterStandardSchemaV1()

const isObject = (value: unknown): value is RawFields =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const isFilter = (issue: SchemaIssue.Issue): boolean =>
  issue._tag === "Filter" ||
  ((issue._tag === "Pointer" || issue._tag === "Encoding") && isFilter(issue.issue)) ||
  ((issue._tag === "AnyOf" || issue._tag === "Composite") && issue.issues.some(isFilter))

/** The issues of a request, in the order of the schema, one for each field; a field of a field has a dotted path. */
export const issuesOf = (failure: SchemaIssue.Issue, input: unknown): ReadonlyArray<Issue> => {
  const raw = isObject(input) ? input : {}
  const messages = new Map<string, string>()
  for (const issue of failure._tag === "Composite" ? failure.issues : [failure]) {
    for (const { message: found = "is not valid", path = [] } of formatIssue(issue).issues) {
      const field = path.map(String).join(".")
      const value = raw[field]
      const message = Array.isArray(value) && !isFilter(issue) ? notOneValue(value) : found
      if (!messages.has(field)) messages.set(field, message)
    }
  }
  for (const rule of rulesOf(failure)) {
    const issue = rule(raw)
    if (issue !== undefined && !messages.has(issue.field)) messages.set(issue.field, issue.message)
  }
  const issues = Array.from(messages, ([field, message]) => ({ field, message }))
  const names = failure._tag === "Composite" ? namesIn(failure.ast) : []
  const position = ({ field }: Issue): number => names.indexOf(field.split(".", 1).join(""))
  return issues.sort((a, b) => position(a) - position(b))
}

/**
 * The most entries that the list of any field may have. Decoders read one entry more, which is enough to refuse a longer list:
 * they make an issue for each invalid entry, and a body of 1 MiB has room for 500,000.
 */
export const maxListEntries = 300

const isTooLong = (value: unknown): value is ReadonlyArray<unknown> =>
  Array.isArray(value) && value.length > maxListEntries

/** The fields of an object with these names, if one of them holds a list to be cut. */
const cutLists = (input: unknown, names: ReadonlyArray<string>): unknown => {
  if (!isObject(input) || !names.some((name) => isTooLong(input[name]))) return input
  const cut = (value: unknown) => (isTooLong(value) ? value.slice(0, maxListEntries + 1) : value)
  const present = names.filter((name) => Object.hasOwn(input, name))
  return Object.fromEntries(present.map((name) => [name, cut(input[name])]))
}

/** The decoder of a request's schema, compiled once. */
export const decoder = <A>(schema: Schema.ConstraintDecoder<A>) => {
  const decode = Schema.decodeUnknownResult(schema, reportAll)
  const names = namesIn(schema.ast)
  return (raw: unknown): Result.Result<A, InvalidRequest> => {
    const input = cutLists(raw, names)
    return Result.mapError(decode(input), ({ issue }) => InvalidRequest.fromIssues(issuesOf(issue, input)))
  }
}

export const Text = Schema.String.annotate({ message: "must be a string" })

/** Text in which whitespace is collapsed before anything else is asked of it (R10). */
export const CollapsedText = Text.pipe(
  Schema.decode(SchemaTransformation.transform({ decode: normalizeWhitespace, encode: (text) => text }))
)

export const carriable = Schema.makeFilter(
  (text: string) => isCarriable(text) || "must not hold a NUL character or a lone surrogate"
)

/** Text of a limited length that a query can be compared with. */
export const limitedText = (
  maximum: number,
  annotations: { readonly description: string; readonly pattern?: string }
) =>
  Text.annotate(annotations).check(
    carriable,
    Schema.isBetweenLength(1, maximum, { message: `must have 1 to ${maximum} characters` })
  )

export const wholeNumberMessage = (maximum: number): string => `must be a whole number from 1 to ${maximum}`

/** Keys of annotations that documents show, beside those that every JSON Schema has. */
export const documentKeys: ReadonlySet<string> = new Set([
  "type",
  "minLength",
  "maxLength",
  "pattern",
  "minimum",
  "maximum"
])

interface Described {
  readonly description: string
  readonly default?: number
}

/** A whole number from 1 to `maximum` as a JSON number (R5). */
export const wholeNumber = (maximum: number, annotations: Described) => {
  const message = wholeNumberMessage(maximum)
  return Schema.Number.annotate({ message, ...annotations }).check(
    Schema.isInt({ message }),
    Schema.isBetween({ minimum: 1, maximum }, { message })
  )
}

/** The text that stands for a number in a query string: plain decimal digits, no sign, fraction or exponent (R5). */
export const asDigits = <S extends Schema.Codec<number, number>>(number: S, message: string) => {
  const { schema } = Schema.toJsonSchemaDocument(number, { includeAnnotationKey: (key) => documentKeys.has(key) })
  return Schema.String.annotate({ ...schema, message })
    .check(Schema.isPattern(/^[0-9]+$/, { message, toJsonSchema: () => ({}) }))
    .pipe(
      Schema.decodeTo(
        number,
        SchemaTransformation.transform({
          // A safe integer, because digits without end would be read as Infinity.
          decode: (text: string) => Math.min(Number(text), Number.MAX_SAFE_INTEGER),
          encode: String
        })
      )
    )
}

const dateTime =
  /^([0-9]{4})-([0-9]{2})-([0-9]{2})(?:T[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?(?:Z|[+-][0-9]{2}:[0-9]{2}))?$/

const notMoment = "must be a date or a time with its zone in ISO 8601, such as 2026-01-31 or 2026-01-31T08:00:00Z"

/** The first millisecond of the year 10000, which has no ISO 8601 form with four digits. */
const endOfTimeMs = 253_402_300_800_000

/** Unix milliseconds of a moment in ISO 8601; a date alone is its midnight in UTC. */
export const parseMoment = (input: string): number | undefined => {
  const [text, year, month, day] = dateTime.exec(input) ?? []
  if (text === undefined) return undefined
  // The 30th of February would be read as the 2nd of March.
  const lastDay = DateTime.toPartsUtc(DateTime.makeUnsafe({ year: Number(year), month: Number(month) + 1, day: 0 })).day
  // biome-ignore lint/style/noRestrictedGlobals: it reads a text and no clock.
  const millis = Date.parse(text)
  return Number(day) <= lastDay && millis >= 0 && millis < endOfTimeMs ? millis : undefined
}

export const toMoment = (millis: number): string => DateTime.formatIso(DateTime.makeUnsafe(millis))

/** A moment: ISO 8601 on the wire, Unix milliseconds in the service. */
export const Moment = Schema.String.annotate({ message: notMoment, format: "date-time" }).pipe(
  Schema.decodeTo(
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: endOfTimeMs - 1 })),
    SchemaTransformation.transformEffect({
      decode: (text: string) => {
        const millis = parseMoment(text)
        return millis === undefined
          ? Effect.fail(new SchemaIssue.InvalidValue({ message: notMoment }))
          : Effect.succeed(millis)
      },
      encode: (millis) => Effect.succeed(toMoment(millis))
    })
  )
)

/** A moment as an optional parameter. */
export const momentParameter = (description: string) =>
  Schema.optionalKey(
    Moment.pipe(
      Schema.annotateEncoded({ description: `${description}, in ISO 8601. A date alone is its midnight in UTC.` })
    )
  )
