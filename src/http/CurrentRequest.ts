import { Context, Effect } from "effect"
import { requestIdPattern } from "../domain/requestId.ts"

/** Fields of the request's access log line that middlewares and handlers add. Times are in milliseconds. */
export interface LogFields {
  /** The error's code, or `cut` for a streamed response that ended before its last line. */
  readonly outcome?: string
  readonly principal?: string
  readonly account_id?: string
  readonly target?: string
  /** Length of a query before it was cut to what providers take, in code points (R43). */
  readonly query_cut_from?: number
  readonly batch_id?: string
  readonly rows?: number
  readonly rows_failed?: number
  readonly credits?: number
  /** True for the answer of an earlier request with the same idempotency key. */
  readonly replayed?: boolean
  readonly cached?: boolean
  readonly provider?: string
  readonly reserve_ms?: number
  readonly search_ms?: number
  readonly settle_ms?: number
}

/** State of a request that middlewares and handlers fill, and that the edge writes to the response and the log. */
export interface RequestState {
  /** Sent in the response's header and in its error envelope (R2). */
  readonly id: string
  readonly logFields: { -readonly [Name in keyof LogFields]: LogFields[Name] }
  /**
   * Work that goes on when the client has left, such as a search that was dispatched. It adds the last fields of the log
   * line, which then waits for it: a charge that nobody got an answer for must be in the log. The line of a streamed
   * response waits for it in any case.
   */
  work: Effect.Effect<void> | undefined
  /** True if the query string has too many parameters (R70). The router then runs without it. */
  hasTooManyParameters: boolean
  /** Response headers. They are set in one step at the end, because each step copies all headers of the response. */
  readonly headers: Record<string, string>
}

export const makeRequestState = (id: string): RequestState => ({
  id,
  logFields: {},
  work: undefined,
  hasTooManyParameters: false,
  headers: {}
})

/** Set by the edge for every request. */
export const CurrentRequest = Context.Reference<RequestState>("quarry/http/CurrentRequest", {
  defaultValue: () => makeRequestState("00000000-0000-0000-0000-000000000000")
})

export const addLogFields = ({ logFields }: RequestState, fields: LogFields): void => {
  Object.assign(logFields, fields)
}

/** Sets headers on the response to this request, success or error. A 500 leaves them out (R1). */
export const setHeaders = (state: RequestState, headers: Readonly<Record<string, string>>): void => {
  Object.assign(state.headers, headers)
}

/** Takes the caller's request id where it is a UUID of any version in any letter case, and otherwise makes a new one. */
export const requestIdFrom = <E, R>(
  header: unknown,
  makeId: Effect.Effect<string, E, R>
): Effect.Effect<string, E, R> =>
  typeof header === "string" && requestIdPattern.test(header) ? Effect.succeed(header) : makeId
