import { Context, type Effect } from "effect"

/** Fields of a request's access log entry. Times are in milliseconds. */
export interface RecordFields {
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

export interface Timing {
  /** `provider` for a search, `fetch` for a page; undefined if the cache had the answer. */
  readonly part:
    | { readonly name: "provider" | "fetch"; readonly by: string | undefined; readonly ms: number }
    | undefined
  /** Undefined if nothing was looked up, as in a replay. */
  readonly cache: "hit" | "miss" | undefined
}

/** Collects what the edge needs when the request has ended: for its access log entry and its response. */
export interface RequestState {
  readonly id: string
  readonly fields: { -readonly [Name in keyof RecordFields]: RecordFields[Name] }
  /** Work that continues after a disconnect. The access log entry waits for it, so that it has all charges. */
  readonly work: Array<Effect.Effect<unknown>>
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

/** Outside requests, as in commands. All fibers share it, so nothing may be recorded in it. */
export const noRequest = makeRequestState("00000000-0000-0000-0000-000000000000")

/** The request that a fiber works for (R2). Here, because the API's definition encodes its ID in errors. */
export const CurrentRequest = Context.Reference<RequestState>("quarry/references/CurrentRequest", {
  defaultValue: () => noRequest
})
