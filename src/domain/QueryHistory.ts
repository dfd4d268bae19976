import { Effect, Result, Schema, SchemaIssue, SchemaTransformation } from "effect"
import { Base64Url } from "effect/encoding"
import { asDigits, limitedText, momentParameter, wholeNumber, wholeNumberMessage } from "./fields.ts"
import { type Outcome, outcomes } from "./LogEntry.ts"
import { QueryText } from "./SearchRequest.ts"
import { Target } from "./Target.ts"

/** 18 digits stay inside the store's 64-bit integers and its range of time. */
const maxPart = 10n ** 18n - 1n
const Part = Schema.BigInt.check(Schema.isBetweenBigInt({ minimum: 0n, maximum: maxPart }))

/** A place in an account's log, newest first: what comes after it stays the same whatever is logged meanwhile. */
export const Position = Schema.Struct({
  /** Unix microseconds on the store's clock: its full precision, or entries of one millisecond would be skipped. */
  atMicros: Part,
  /** Tells entries of one moment apart. */
  ordinal: Part
})
export type Position = typeof Position.Type

/** The filters of a page of history. An undefined one matches every entry. */
export interface HistoryFilter {
  readonly id: string | undefined
  readonly target: Target | undefined
  readonly outcome: Outcome | undefined
  readonly keyId: string | undefined
  readonly batchId: string | undefined
  readonly source: string | undefined
  /** Found anywhere in the query, in any letter case. */
  readonly text: string | undefined
  /** Unix milliseconds. */
  readonly from: number | undefined
  /** Unix milliseconds, its first moment outside. */
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
  from: undefined,
  to: undefined
}

export interface HistoryQuery {
  readonly filter: HistoryFilter
  /** The end of the page before; undefined for the first page. */
  readonly after: Position | undefined
  /** Most entries wanted. */
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

const notCursor = "must be a next_cursor of this route"

/** Longer than any cursor that the service gives out. */
const maxCursorCharacters = 64

/** A position as the opaque text that clients hand back to get the next page. */
export const Cursor = Schema.String.annotate({ message: notCursor, minLength: 1, maxLength: maxCursorCharacters }).pipe(
  Schema.decodeTo(
    Position,
    SchemaTransformation.transformEffect({
      decode: (cursor: string) => {
        const place = decodeCursor(cursor)
        return place === undefined
          ? Effect.fail(new SchemaIssue.InvalidValue({ message: notCursor }))
          : Effect.succeed(place)
      },
      encode: (place) => Effect.succeed(encodeCursor(place))
    })
  )
)

export const maxEntries = 100
export const defaultEntries = 20
const maxIdCharacters = 64
const maxSourceCharacters = 64

const Limit = wholeNumber(maxEntries, { default: defaultEntries, description: "Most entries wanted." })
const limit = Schema.optionalKey(asDigits(Limit, wholeNumberMessage(maxEntries)))

const idOf = (prefix: string, description: string) =>
  Schema.optionalKey(limitedText(maxIdCharacters, { pattern: `^${prefix}_[0-9a-f]{32}$`, description }))

/** The parameters of `GET /v1/query/recent`. */
export const RecentParameters = Schema.Struct({ limit })

/** The parameters of `GET /v1/query/history`. */
export const HistoryParameters = Schema.Struct({
  target: Schema.optionalKey(Target.annotate({ identifier: undefined, description: "Searches of this target." })),
  status: Schema.optionalKey(
    Schema.Literals(outcomes).annotate({
      message: `must be one of ${outcomes.join(", ")}`,
      description: "Searches that ended so."
    })
  ),
  key: idOf("key", "Searches made with this key, by its id."),
  batch: idOf("bat", "Rows of this batch."),
  id: idOf("qry", "The entry with this id alone."),
  source: Schema.optionalKey(
    limitedText(maxSourceCharacters, { description: "Searches with this attribution label." })
  ),
  text: Schema.optionalKey(
    QueryText.pipe(Schema.annotateEncoded({ description: "Searches whose query holds this text, in any letter case." }))
  ),
  from: momentParameter("First moment listed"),
  to: momentParameter("First moment not listed"),
  cursor: Schema.optionalKey(Cursor.pipe(Schema.annotateEncoded({ description: "next_cursor of the page before." }))),
  limit
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
    from: parameters.from,
    to: parameters.to
  },
  after: parameters.cursor,
  limit: parameters.limit ?? defaultEntries
})
