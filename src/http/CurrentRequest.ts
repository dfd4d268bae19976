import { Context, Effect } from "effect"
import type { RecordFields, RequestRecord } from "../domain/requests/RequestRecord.ts"
import { requestIdPattern } from "../domain/requests/requestId.ts"

export interface Timing {
  /** `provider` for a search, `fetch` for a page; undefined if the cache had the answer. */
  readonly part:
    | { readonly name: "provider" | "fetch"; readonly by: string | undefined; readonly ms: number }
    | undefined
  /** Undefined if nothing was looked up, as in a replay. */
  readonly cache: "hit" | "miss" | undefined
}

export interface RequestState extends RequestRecord {
  /** The query string has too many parameters, so the router runs without it (R70). */
  hasTooManyParameters: boolean
  /** Response headers, set in one step at the end because each step copies them all. */
  readonly headers: Record<string, string>
  /** Set by routes that send `Server-Timing` (R64). The edge adds the total. */
  timing: Timing | undefined
}

export const makeRequestState = (id: string): RequestState => ({
  id,
  fields: {},
  work: [],
  hasTooManyParameters: false,
  headers: {},
  timing: undefined
})

export const CurrentRequest = Context.Reference<RequestState>("quarry/http/CurrentRequest", {
  defaultValue: () => makeRequestState("00000000-0000-0000-0000-000000000000")
})

export const addLogFields = (state: RequestState, fields: RecordFields): void => {
  Object.assign(state.fields, fields)
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
