import { Schema } from "effect"
import type { SearchOptions } from "../options/SearchOptions.ts"
import type { UnreadableReason } from "../pages/UnreadableReason.ts"
import { refusalReasons } from "../providers/Refusal.ts"
import type { AnyTarget, Safe } from "./Target.ts"

/**
 * The outcomes of searches and pages in the log; `page_unreadable` is a page's alone, and costs nothing. Those with other
 * errors are not logged (I5).
 */
export const outcomes = ["ok", "upstream_error", "upstream_timeout", "page_unreadable"] as const
export const Outcome = Schema.Literals(outcomes)
export type Outcome = typeof Outcome.Type

/**
 * The reason for which a provider gave a search no results: a refusal, `cool_down` for one that was not called, or
 * `cut_off` for an attempt that the end of its batch stopped. `merged` is no failure: the provider is one of a fused
 * target, and its results are part of the search's.
 */
export const LoggedReason = Schema.Literals([...refusalReasons, "cool_down", "cut_off", "merged"])
export type LoggedReason = typeof LoggedReason.Type

/** The reasons as customers see them: the state of the operator's accounts and credentials is `unavailable`. */
export const PublicReason = Schema.Literals([
  "blocked",
  "rate_limited",
  "unreachable",
  "malformed",
  "timeout",
  "unserved",
  "busy",
  "cool_down",
  "cut_off",
  "merged",
  "unavailable"
])

export const toPublicReason = (reason: LoggedReason): typeof PublicReason.Type =>
  reason === "quota" || reason === "unauthorized" ? "unavailable" : reason

/**
 * A provider that gave a search no results, or one of several whose results were merged. `ms` is the time of the
 * attempt, 0 for a provider that was not called; `only` counts the results that no other provider had.
 */
export const LoggedRefusal = Schema.Struct({
  provider: Schema.String,
  reason: LoggedReason,
  ms: Schema.Int,
  only: Schema.optionalKey(Schema.Int)
})
export type LoggedRefusal = typeof LoggedRefusal.Type

/** The request of an entry. A page has an address for its query, and no field of a search. */
export interface LoggedRequest {
  readonly target: AnyTarget
  readonly query: string
  readonly geo?: string | undefined
  readonly locale?: string | undefined
  readonly page?: number | undefined
  readonly num?: number | undefined
  readonly safe?: Safe | undefined
  readonly source: string
  readonly options?: SearchOptions | undefined
}

/** The end of a page. */
export interface LoggedPage {
  /** The host of the address, or of its last redirect if the page was read. */
  readonly host: string
  /** Undefined for a page that was read. */
  readonly reason: UnreadableReason | undefined
  /** The size of the document; 0 if it was not read. */
  readonly bytes: number
}

/** One entry of the query log. */
export interface LogEntry {
  /** `qry_` and 32 hex characters. */
  readonly id: string
  readonly accountId: string | undefined
  readonly keyId: string | undefined
  readonly batchId: string | undefined
  readonly request: LoggedRequest
  readonly outcome: Outcome
  /** Credits charged: 1, or 0 in the demo (R24) and for a page that could not be read. */
  readonly credits: number
  /** True where the answer came from the result cache (R15). */
  readonly cached: boolean
  /** Name of the provider; undefined where none answered. */
  readonly provider: string | undefined
  readonly resultCount: number
  readonly durationMs: number
  /** The id of the request (R2); undefined outside requests. */
  readonly requestId: string | undefined
  /** The position in the batch, from 0. */
  readonly rowIndex: number | undefined
  /** In the order of the attempts. Empty where the first provider answered, or the cache did. */
  readonly refusals: ReadonlyArray<LoggedRefusal>
  /** Undefined for a search. */
  readonly page?: LoggedPage | undefined
}
