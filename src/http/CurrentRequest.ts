import { Context, Effect } from "effect"
import { requestIdPattern } from "../domain/requests/requestId.ts"
import type { Timing } from "./responses/serverTiming.ts"

export interface LogFields {
  /** The error code, or `cut` for a streamed response without its last line. */
  readonly outcome?: string
  readonly principal?: string
  readonly account_id?: string
  readonly target?: string
  /** Original length of a truncated query, in code points (R43). */
  readonly query_cut_from?: number
  readonly batch_id?: string
  readonly rows?: number
  readonly rows_failed?: number
  readonly credits?: number
  readonly replayed?: boolean
  readonly cached?: boolean
  readonly provider?: string
  readonly reserve_ms?: number
  readonly search_ms?: number
  readonly page_ms?: number
  readonly reason?: string
  readonly settle_ms?: number
}

export interface RequestState {
  readonly id: string
  readonly logFields: { -readonly [Name in keyof LogFields]: LogFields[Name] }
  /** Work that continues after a disconnect. The access log entry waits for it, so that it has all charges. */
  work: Effect.Effect<void> | undefined
  /** The query string has too many parameters, so the router runs without it (R70). */
  hasTooManyParameters: boolean
  /** Response headers, set in one step at the end because each step copies them all. */
  readonly headers: Record<string, string>
  /** Set by routes that send `Server-Timing` (R64). The edge adds the total. */
  timing: Timing | undefined
}

export const makeRequestState = (id: string): RequestState => ({
  id,
  logFields: {},
  work: undefined,
  hasTooManyParameters: false,
  headers: {},
  timing: undefined
})

export const CurrentRequest = Context.Reference<RequestState>("quarry/http/CurrentRequest", {
  defaultValue: () => makeRequestState("00000000-0000-0000-0000-000000000000")
})

export const addLogFields = ({ logFields }: RequestState, fields: LogFields): void => {
  Object.assign(logFields, fields)
}

/** Adds response headers for success and error alike. A 500 omits them (R1). */
export const setHeaders = (state: RequestState, headers: Readonly<Record<string, string>>): void => {
  Object.assign(state.headers, headers)
}

/** Reuses the caller's request ID if it is a UUID of any version; otherwise generates one. */
export const requestIdFrom = <E, R>(
  header: unknown,
  makeId: Effect.Effect<string, E, R>
): Effect.Effect<string, E, R> =>
  typeof header === "string" && requestIdPattern.test(header) ? Effect.succeed(header) : makeId
