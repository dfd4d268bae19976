import { Result, Schema } from "effect"
import { Base64Url } from "effect/encoding"
import { InvalidRequest } from "./errors.ts"
import {
  carriable,
  digits,
  moment,
  type RawFields,
  type Reader,
  reader,
  readFields,
  Text,
  wholeNumber
} from "./fields.ts"
import { type Outcome, outcomes } from "./LogEntry.ts"
import { QueryText } from "./SearchRequest.ts"
import { Target } from "./Target.ts"

/** A place in an account's log, newest first: what comes after it stays the same whatever is logged meanwhile. */
export interface Position {
  /** Unix microseconds on the store's clock: its full precision, or entries of one millisecond would be skipped. */
  readonly atMicros: bigint
  /** Tells entries of one moment apart. */
  readonly ordinal: bigint
}

/** Which entries are wanted; undefined wants all. */
export interface HistoryFilter {
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
  /** Where the page before ended; undefined for the first. */
  readonly after: Position | undefined
  /** Most entries wanted. */
  readonly limit: number
}

/** An opaque text that clients hand back to get the next page. */
export const encodeCursor = ({ atMicros, ordinal }: Position): string => Base64Url.encode(`${atMicros}.${ordinal}`)

/** 18 digits stay inside the store's 64-bit integers and its range of time. */
const position = /^([0-9]{1,18})\.([0-9]{1,18})$/

const readCursor: Reader<Position> = (input) => {
  const text = typeof input === "string" ? Result.getOrElse(Base64Url.decodeString(input), () => "") : ""
  const [, atMicros, ordinal] = position.exec(text) ?? []
  return atMicros === undefined || ordinal === undefined
    ? Result.fail("must be a next_cursor of this route")
    : Result.succeed({ atMicros: BigInt(atMicros), ordinal: BigInt(ordinal) })
}

export const maxEntries = 100
export const defaultEntries = 20
const maxIdCharacters = 64
export const maxSourceCharacters = 64

const text = (maximum: number) =>
  reader(Text.check(carriable, Schema.isBetweenLength(1, maximum, { message: `must have 1 to ${maximum} characters` })))

const readLimit = reader(digits(1, maxEntries, wholeNumber(maxEntries)))
const readId = text(maxIdCharacters)
const readSource = text(maxSourceCharacters)
const readText = reader(QueryText)
const readTarget = reader(Target)
const readOutcome = reader(Schema.Literals(outcomes).annotate({ message: `must be one of ${outcomes.join(", ")}` }))

/** `GET /v1/query/recent`: how many entries are wanted. */
export const parseRecent = (raw: RawFields): Result.Result<number, InvalidRequest> => {
  const { issues, read } = readFields(raw)
  const limit = read("limit", readLimit, defaultEntries)
  return issues.length > 0 ? Result.fail(InvalidRequest.fromIssues(issues)) : Result.succeed(limit)
}

/** `GET /v1/query/history`: every failure together, as for a search (R6). */
export const parseHistory = (raw: RawFields): Result.Result<HistoryQuery, InvalidRequest> => {
  const { issues, read } = readFields(raw)
  const query: HistoryQuery = {
    filter: {
      target: read("target", readTarget, undefined),
      outcome: read("status", readOutcome, undefined),
      keyId: read("key", readId, undefined),
      batchId: read("batch", readId, undefined),
      source: read("source", readSource, undefined),
      text: read("text", readText, undefined),
      from: read("from", moment, undefined),
      to: read("to", moment, undefined)
    },
    after: read("cursor", readCursor, undefined),
    limit: read("limit", readLimit, defaultEntries)
  }
  return issues.length > 0 ? Result.fail(InvalidRequest.fromIssues(issues)) : Result.succeed(query)
}
