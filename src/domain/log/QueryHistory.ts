import { Effect, Result, Schema, SchemaIssue, SchemaTransformation } from "effect"
import { Base64Url } from "effect/encoding"
import { type OptionName, optionNames } from "../options/SearchOptions.ts"
import { parseSite } from "../options/Sites.ts"
import { asDigits, limitedText, momentParameter, wholeNumber, wholeNumberMessage } from "../requests/fields.ts"
import { requestIdPattern } from "../requests/requestId.ts"
import { QueryText } from "../search/SearchRequest.ts"
import { AnyTarget } from "../search/Target.ts"
import { type Outcome, outcomes } from "./LogEntry.ts"

/** 18 digits fit into the database's 64-bit integers. */
const maxPart = 10n ** 18n - 1n
const Part = Schema.BigInt.check(Schema.isBetweenBigInt({ minimum: 0n, maximum: maxPart }))

/** A position in a log, newest first. Later pages stay the same while new entries are logged. */
export const Position = Schema.Struct({
  /** Unix microseconds, like the database's clock: milliseconds would skip entries. */
  atMicros: Part,
  ordinal: Part
})
export type Position = typeof Position.Type

const kinds = ["search", "page"] as const
export type LogKind = (typeof kinds)[number]

export interface HistoryFilter {
  readonly id: string | undefined
  readonly target: AnyTarget | undefined
  readonly outcome: Outcome | undefined
  readonly keyId: string | undefined
  readonly batchId: string | undefined
  readonly source: string | undefined
  readonly text: string | undefined
  readonly kind: LogKind | undefined
  readonly requestId: string | undefined
  readonly minDurationMs: number | undefined
  readonly option: OptionName | undefined
  readonly domain: string | undefined
  readonly from: number | undefined
  readonly to: number | undefined
}

export const everything: HistoryFilter = {
  id: undefined,
  target: undefined,
  outcome: undefined,
  keyId: undefined,
  batchId: undefined,
  source: undefined,
  text: undefined,
  kind: undefined,
  requestId: undefined,
  minDurationMs: undefined,
  option: undefined,
  domain: undefined,
  from: undefined,
  to: undefined
}

export interface HistoryQuery {
  readonly filter: HistoryFilter
  readonly after: Position | undefined
  readonly limit: number
}

const encodeCursor = ({ atMicros, ordinal }: Position): string => Base64Url.encode(`${atMicros}.${ordinal}`)

const position = /^([0-9]{1,18})\.([0-9]{1,18})$/

const decodeCursor = (cursor: string): Position | undefined => {
  const [, atMicros, ordinal] = position.exec(Result.getOrElse(Base64Url.decodeString(cursor), () => "")) ?? []
  return atMicros === undefined || ordinal === undefined
    ? undefined
    : { atMicros: BigInt(atMicros), ordinal: BigInt(ordinal) }
}

const cursorMessage = "must be a next_cursor of this route"

const maxCursorCharacters = 64

export const Cursor = Schema.String.annotate({
  message: cursorMessage,
  minLength: 1,
  maxLength: maxCursorCharacters
}).pipe(
  Schema.decodeTo(
    Position,
    SchemaTransformation.transformEffect({
      decode: (cursor: string) => {
        const decoded = decodeCursor(cursor)
        return decoded === undefined
          ? Effect.fail(new SchemaIssue.InvalidValue({ message: cursorMessage }))
          : Effect.succeed(decoded)
      },
      encode: (decoded) => Effect.succeed(encodeCursor(decoded))
    })
  )
)

export const maxEntries = 100
export const defaultEntries = 20
const maxIdCharacters = 64
const maxSourceCharacters = 64
const maxDurationMs = 600_000
const maxDomainCharacters = 300

const Limit = wholeNumber(maxEntries, { default: defaultEntries, description: "Maximum number of entries to return." })
const limit = Schema.optionalKey(asDigits(Limit, wholeNumberMessage(maxEntries)))

const idOf = (prefix: string, description: string) =>
  Schema.optionalKey(limitedText(maxIdCharacters, { pattern: `^${prefix}_[0-9a-f]{32}$`, description }))

export const RecentParameters = Schema.Struct({ limit })

export const pageParameters = {
  from: momentParameter("Start of the range, inclusive"),
  to: momentParameter("End of the range, exclusive"),
  cursor: Schema.optionalKey(Cursor.pipe(Schema.annotateEncoded({ description: "next_cursor of the previous page." }))),
  limit
}

export const HistoryParameters = Schema.Struct({
  target: Schema.optionalKey(
    AnyTarget.annotate({ identifier: undefined, description: "Only searches of this target; page selects pages." })
  ),
  status: Schema.optionalKey(
    Schema.Literals(outcomes).annotate({
      message: `must be one of ${outcomes.join(", ")}`,
      description: "Only entries with this outcome."
    })
  ),
  key: idOf("key", "Only searches made with the key of this ID."),
  batch: idOf("bat", "Only rows of this batch."),
  id: idOf("(qry|pag)", "Only the entry with this ID."),
  source: Schema.optionalKey(
    limitedText(maxSourceCharacters, { description: "Only searches with this attribution label." })
  ),
  text: Schema.optionalKey(
    QueryText.pipe(
      Schema.annotateEncoded({ description: "Only searches whose query contains this text, ignoring case." })
    )
  ),
  kind: Schema.optionalKey(
    Schema.Literals(kinds).annotate({
      message: `must be one of ${kinds.join(", ")}`,
      description: "Only searches, or only pages that were read."
    })
  ),
  request: Schema.optionalKey(
    Schema.String.annotate({
      message: "must be an X-Request-Id, which is a UUID",
      description: "Only the entries of the request with this `X-Request-Id`.",
      format: "uuid"
    }).check(Schema.isPattern(requestIdPattern, { message: "must be an X-Request-Id, which is a UUID" }))
  ),
  min_ms: Schema.optionalKey(
    asDigits(
      wholeNumber(maxDurationMs, { description: "Only entries that took at least this many milliseconds." }),
      wholeNumberMessage(maxDurationMs)
    )
  ),
  option: Schema.optionalKey(
    Schema.Literals(optionNames).annotate({
      message: `must be one of ${optionNames.join(", ")}`,
      description: "Only searches that used this option."
    })
  ),
  domain: Schema.optionalKey(
    limitedText(maxDomainCharacters, { description: "Only searches that included or excluded this domain." })
  ),
  ...pageParameters
})

export const toHistoryQuery = (parameters: typeof HistoryParameters.Type): HistoryQuery => ({
  filter: {
    id: parameters.id,
    target: parameters.target,
    outcome: parameters.status,
    keyId: parameters.key,
    batchId: parameters.batch,
    source: parameters.source,
    text: parameters.text,
    kind: parameters.kind,
    requestId: parameters.request?.toLowerCase(),
    minDurationMs: parameters.min_ms,
    option: parameters.option,
    domain: parameters.domain === undefined ? undefined : (parseSite(parameters.domain) ?? parameters.domain),
    from: parameters.from,
    to: parameters.to
  },
  after: parameters.cursor,
  limit: parameters.limit ?? defaultEntries
})
