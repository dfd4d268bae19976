import type { Figures, limitOf } from "./Model.ts"

export type CallerKind = Parameters<typeof limitOf>[0]

/** A request that may be charged: it is in flight, or nobody knows its end yet. */
export interface OpenRequest {
  readonly id: string
  readonly account: ModelAccount
  readonly kind: CallerKind
  /** The most that it may cost. */
  readonly credits: number
  readonly sentAt: number
  readonly usedBefore: number
  readonly balanceBefore: number
  readonly version: number
  /** True where the store has lost moments since it was sent. */
  hasCrossedLoss: boolean
  /** True where it was answered 500: then the log must not have it. */
  mustBeFree: boolean
  /** The rows of it that were seen: they were charged before that (R46). */
  least: number
  /** True where another request of its account was open at the same time. */
  hasCompany: boolean
}

/** A key as the model has it. */
export interface ModelKey {
  readonly accountId: string
  revokedAt: number | undefined
  /** True while nobody outside knows if it is revoked. */
  isUnsure?: boolean
}

/** An account as the model has it. */
export interface ModelAccount {
  readonly id: string
  readonly name: string
  figures: Figures
  /** Requests whose charge is not known yet, by id. */
  open: Map<string, OpenRequest>
  /** Counts what changed the figures beside searches, so that headers of requests meanwhile are not judged by them. */
  version: number
  /** True since searches overlapped at the edge of the quota: then the order decides which of them took from packs. */
  isBlurred: boolean
  /** R49: no credential of it is accepted. */
  isSuspended: boolean
  /** The last moment at which an operator changed something. */
  changedAt: number
  /** True where its plan and its packs are bought at the payment provider. */
  isBuyer: boolean
  /** True while its books may follow what the payment provider says. */
  isMoving: boolean
  movedAt: number
  /** Credits that were spent from packs which were bought. */
  fromPacks: number
  /** Credits of which nobody outside knows in which of two periods they were taken. */
  straddling: number
}
