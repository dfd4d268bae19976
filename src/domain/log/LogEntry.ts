import { Schema } from "effect"
import type { SearchOptions } from "../options/SearchOptions.ts"
import { refusalReasons } from "../providers/Refusal.ts"
import type { AnyTarget, Safe } from "../search/Target.ts"
import type { UnreadableReason } from "../UnreadableReason.ts"

/** Other errors are not logged (I5). Only pages can be `page_unreadable`, which costs nothing. */
export const outcomes = ["ok", "upstream_error", "upstream_timeout", "page_unreadable"] as const
export const Outcome = Schema.Literals(outcomes)
export type Outcome = typeof Outcome.Type

/** `cool_down`, `paused`: not called. `cut_off`: the batch ended first. `merged`: the answer has the results. */
export const LoggedReason = Schema.Literals([...refusalReasons, "cool_down", "paused", "cut_off", "merged"])
export type LoggedReason = typeof LoggedReason.Type

/** Reasons that reveal what the operator does, and the state of the operator's accounts and credentials. */
type PrivateReason = "quota" | "unauthorized" | "paused"

const isPublic = (reason: LoggedReason): reason is Exclude<LoggedReason, PrivateReason> =>
  reason !== "quota" && reason !== "unauthorized" && reason !== "paused"

export const PublicReason = Schema.Literals([...LoggedReason.literals.filter(isPublic), "unavailable"])

export const toPublicReason = (reason: LoggedReason): typeof PublicReason.Type =>
  isPublic(reason) ? reason : "unavailable"

/** `ms` is 0 if the provider was not called. `only` counts results that no other provider had. */
export const LoggedRefusal = Schema.Struct({
  provider: Schema.String,
  reason: LoggedReason,
  ms: Schema.Int,
  only: Schema.optionalKey(Schema.Int)
})
export type LoggedRefusal = typeof LoggedRefusal.Type

/** A page read has the page's URL as its query, and no other field of a search. */
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

export interface LoggedPage {
  readonly host: string
  /** Undefined if the page was read. */
  readonly reason: UnreadableReason | undefined
  /** Size of the document; 0 if it was not read. */
  readonly bytes: number
}

export interface LogEntry {
  readonly id: string
  readonly accountId: string | undefined
  readonly keyId: string | undefined
  /** The person whose session or app searched, or who created the key (R67). Undefined if unknown. */
  readonly personId?: string | undefined
  readonly batchId: string | undefined
  readonly request: LoggedRequest
  readonly outcome: Outcome
  /** 1, or 0 in the demo (R24) and for a page that could not be read. */
  readonly credits: number
  readonly cached: boolean
  /** Undefined if none answered. */
  readonly provider: string | undefined
  readonly resultCount: number
  readonly durationMs: number
  /** Undefined outside requests (R2). */
  readonly requestId: string | undefined
  /** 0-based. */
  readonly rowIndex: number | undefined
  /** In the order of the attempts. Empty if the cache or the first provider answered. */
  readonly refusals: ReadonlyArray<LoggedRefusal>
  /** Undefined for a search. */
  readonly page?: LoggedPage | undefined
}

/** The parts of an entry that say where its request was. */
export type LogPlace = Pick<LogEntry, "id" | "batchId" | "rowIndex" | "requestId">
