import { Schema } from "effect"
import type { SearchRequest } from "./SearchRequest.ts"

/** The outcomes of searches in the log. Searches with other errors are not logged (I5). */
export const outcomes = ["ok", "upstream_error", "upstream_timeout"] as const
export const Outcome = Schema.Literals(outcomes)
export type Outcome = typeof Outcome.Type

/** One entry of the query log. */
export interface LogEntry {
  /** `qry_` and 32 hex characters. */
  readonly id: string
  readonly accountId: string | undefined
  readonly keyId: string | undefined
  readonly batchId: string | undefined
  readonly request: SearchRequest & { readonly source: string }
  readonly outcome: Outcome
  /** Credits charged: 1, or 0 in the demo (R24). */
  readonly credits: number
  /** True where the answer came from the result cache (R15). */
  readonly cached: boolean
  /** Name of the provider; undefined where none answered. */
  readonly provider: string | undefined
  readonly resultCount: number
  readonly durationMs: number
}
