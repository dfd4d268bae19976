import { DateTime, Effect, Predicate, Result, Schema, type SchemaAST, SchemaIssue, SchemaTransformation } from "effect"
import { InvalidRequest, type Issue } from "../errors.ts"
import { mistakesBetween } from "../spelling.ts"
import { isCarriable, normalizeWhitespace, partBefore } from "../text.ts"

/** Undecoded fields: text from a query string (a list if repeated), or any JSON from a body. */
export type RawFields = Readonly<Record<string, unknown>>

const reportAll = { errors: "all" } as const

/** A lone surrogate, which no query string decodes to, marks a value that could not be decoded. */
export const undecodable = "\udc00"

const notOneValue = (value: ReadonlyArray<unknown>): string =>
  value.length === 1 && value[0] === undecodable ? "must be percent-encoded UTF-8" : "must be sent only once"

/** A rule over several fields. Also runs if other fields are invalid, so any field may be undecoded. */
export type FieldsRule = (fields: RawFields) => Issue | undefined

const besideFailures = "quarry/besideFailures"

/** Runs even if fields are invalid, unlike a plain check, so that all failures are reported together (R6). */
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

const namesIn = (ast: SchemaAST.AST): ReadonlyArray<string> =>
  ast._tag === "Objects" ? ast.propertySignatures.map(({ name }) => String(name)) : []

const hintFor = (value: unknown, isTypeFailure: boolean): string =>
  isTypeFailure && typeof value === "string" && /^\d+$/.test(value) ? ", without quotes" : ""

const formatIssue = SchemaIssue.makeFormatterStandardSchemaV1()

const isFilter = (issue: SchemaIssue.Issue): boolean =>
  issue._tag === "Filter" ||
  ((issue._tag === "Pointer" || issue._tag === "Encoding") && isFilter(issue.issue)) ||
  ((issue._tag === "AnyOf" || issue._tag === "Composite") && issue.issues.some(isFilter))

export const issuesOf = (failure: SchemaIssue.Issue, input: unknown): ReadonlyArray<Issue> => {
  const raw = Predicate.isReadonlyObject(input) ? input : {}
  const messages = new Map<string, string>()
  for (const issue of failure._tag === "Composite" ? failure.issues : [failure]) {
    for (const { message: found = "is not valid", path = [] } of formatIssue(issue).issues) {
      const field = path.map(String).join(".")
      const value = raw[field]
      const isTypeFailure = !isFilter(issue)
      const message = Array.isArray(value) && isTypeFailure ? notOneValue(value) : found + hintFor(value, isTypeFailure)
      if (!messages.has(field)) messages.set(field, message)
    }
  }
  for (const rule of rulesOf(failure)) {
    const issue = rule(raw)
    if (issue !== undefined && !messages.has(issue.field)) messages.set(issue.field, issue.message)
  }
  const issues = Array.from(messages, ([field, message]) => ({ field, message }))
  const names = failure._tag === "Composite" ? namesIn(failure.ast) : []
  const position = ({ field }: Issue): number => names.indexOf(partBefore(field, "."))
  return issues.sort((a, b) => position(a) - position(b))
}

/** Decoders report every invalid entry, and 1 MiB has room for 500,000. One more is kept, so the length check fails. */
export const maxListEntries = 300

const cutLists = (input: unknown, names: ReadonlyArray<string>, maxEntries: number): unknown => {
  const isTooLong = (value: unknown): value is ReadonlyArray<unknown> =>
    Array.isArray(value) && value.length > maxEntries
  if (!Predicate.isReadonlyObject(input) || !names.some((name) => isTooLong(input[name]))) return input
  const cut = (value: unknown) => (isTooLong(value) ? value.slice(0, maxEntries + 1) : value)
  const present = names.filter((name) => Object.hasOwn(input, name))
  return Object.fromEntries(present.map((name) => [name, cut(input[name])]))
}

/** Limits the comparisons, because callers choose how many names they send. */
const maxComparedNames = 64
const comparedName = /^[A-Za-z_.-]{1,32}$/

const otherNames: Readonly<Record<string, ReadonlyArray<string>>> = {
  query: ["q", "search", "text", "term", "prompt", "input", "keywords"],
  url: ["address", "link", "href", "uri"],
  queries: ["query", "searches", "batch"]
}

const resembles = (sent: string, field: string): boolean =>
  (otherNames[field]?.includes(sent) ?? false) ||
  (sent.length > 2 && (sent.startsWith(field) || field.startsWith(sent))) ||
  mistakesBetween(sent, field, 2) <= Math.min(2, field.length - 2)

/** Adds a hint to the issue of a missing field if the caller sent it under another name (R71): `q` for `query`. */
const withMeantFields = (
  issues: ReadonlyArray<Issue>,
  input: unknown,
  names: ReadonlyArray<string>
): ReadonlyArray<Issue> => {
  if (!Predicate.isReadonlyObject(input)) return issues
  const isMissing = ({ field }: Issue) => names.includes(field) && !Object.hasOwn(input, field)
  if (!issues.some(isMissing)) return issues
  const unknown = Object.keys(input)
    .slice(0, maxComparedNames)
    .filter((name) => !names.includes(name) && comparedName.test(name))
  return issues.map((issue) => {
    const sent = isMissing(issue) ? unknown.find((name) => resembles(name.toLowerCase(), issue.field)) : undefined
    return sent === undefined ? issue : { ...issue, message: `${issue.message}; you sent \`${sent}\` instead` }
  })
}

/** Cuts the lists of a body as `decoder` does. Returns the same value if none is too long. */
export const shortener = (schema: Schema.Constraint) => {
  const names = namesIn(schema.ast)
  return (raw: unknown): unknown => cutLists(raw, names, maxListEntries)
}

/** Reads at most `maxEntries` entries of a list, and one more. */
export const decoder = <A>(schema: Schema.ConstraintDecoder<A>, maxEntries = maxListEntries) => {
  const decode = Schema.decodeUnknownResult(schema, reportAll)
  const names = namesIn(schema.ast)
  return (raw: unknown): Result.Result<A, InvalidRequest> => {
    const input = cutLists(raw, names, maxEntries)
    return Result.mapError(decode(input), ({ issue }) =>
      InvalidRequest.fromIssues(withMeantFields(issuesOf(issue, input), raw, names))
    )
  }
}

export const Text = Schema.String.annotate({ message: "must be a string" })

export const CollapsedText = Text.pipe(
  Schema.decode(SchemaTransformation.transform({ decode: normalizeWhitespace, encode: (text) => text }))
)

export const carriable = Schema.makeFilter(
  (text: string) => isCarriable(text) || "must not contain a NUL character or a lone surrogate"
)

export const limitedText = (
  maximum: number,
  annotations: { readonly description: string; readonly pattern?: string }
) =>
  Text.annotate(annotations).check(
    carriable,
    Schema.isBetweenLength(1, maximum, { message: `must have 1 to ${maximum} characters` })
  )

export const wholeNumberMessage = (maximum: number): string => `must be a whole number from 1 to ${maximum}`

/** The keys of JSON Schema that the OpenAPI document takes from annotations. */
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

export const wholeNumber = (maximum: number, annotations: Described) => {
  const message = wholeNumberMessage(maximum)
  return Schema.Number.annotate({ message, ...annotations }).check(
    Schema.isInt({ message }),
    Schema.isBetween({ minimum: 1, maximum }, { message })
  )
}

/** A number in a query string, where it is text. */
export const asDigits = <S extends Schema.Codec<number, number>>(number: S, message: string) => {
  const { schema } = Schema.toJsonSchemaDocument(number, { includeAnnotationKey: (key) => documentKeys.has(key) })
  return Schema.String.annotate({ ...schema, message })
    .check(Schema.isPattern(/^[0-9]+$/, { message, toJsonSchema: () => ({}) }))
    .pipe(
      Schema.decodeTo(
        number,
        SchemaTransformation.transform({
          // Keeps very long digit sequences from becoming Infinity.
          decode: (text: string) => Math.min(Number(text), Number.MAX_SAFE_INTEGER),
          encode: String
        })
      )
    )
}

const dateTime =
  /^([0-9]{4})-([0-9]{2})-([0-9]{2})(?:T[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?(?:Z|[+-][0-9]{2}:[0-9]{2}))?$/

const notMoment = "must be a date or a time with its zone in ISO 8601, such as 2026-01-31 or 2026-01-31T08:00:00Z"

/** The year 10000 has no four-digit ISO 8601 form. */
const endOfTimeMs = 253_402_300_800_000

/** Returns Unix milliseconds. A date means midnight UTC. */
export const parseMoment = (input: string): number | undefined => {
  const [text, year, month, day] = dateTime.exec(input) ?? []
  if (text === undefined) return undefined
  // `Date.parse` would read 30 February as 2 March.
  const lastDay = DateTime.toPartsUtc(DateTime.makeUnsafe({ year: Number(year), month: Number(month) + 1, day: 0 })).day
  // biome-ignore lint/style/noRestrictedGlobals: this parses text and does not read the clock.
  const millis = Date.parse(text)
  return Number(day) <= lastDay && millis >= 0 && millis < endOfTimeMs ? millis : undefined
}

export const toMoment = (millis: number): string => DateTime.formatIso(DateTime.makeUnsafe(millis))

export const toMomentOrNull = (millis: number | undefined): string | null =>
  millis === undefined ? null : toMoment(millis)

/** ISO 8601 in requests and responses, Unix milliseconds inside the service. */
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

export const momentParameter = (description: string) =>
  Schema.optionalKey(
    Moment.pipe(
      Schema.annotateEncoded({ description: `${description}, in ISO 8601. A date without a time means midnight UTC.` })
    )
  )
