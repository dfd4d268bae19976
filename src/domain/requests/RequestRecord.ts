import type { Effect } from "effect"

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

/** Collects what the access log records of a request. The edge writes it when the request has ended. */
export interface RequestRecord {
  readonly id: string
  readonly fields: { -readonly [Name in keyof RecordFields]: RecordFields[Name] }
  /** Work that continues after a disconnect. The access log entry waits for it, so that it has all charges. */
  readonly work: Array<Effect.Effect<unknown>>
}
