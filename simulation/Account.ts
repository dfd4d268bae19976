import type { Figures, limitOf } from "./Model.ts"

export type CallerKind = Parameters<typeof limitOf>[0]

/** A request that may be charged: it is in flight, or its outcome is unknown. */
export interface OpenRequest {
  readonly id: string
  readonly account: ModelAccount
  readonly kind: CallerKind
  /** Maximum charge. */
  readonly credits: number
  readonly sentAt: number
  readonly usedBefore: number
  readonly balanceBefore: number
  readonly version: number
  /** True if the store has lost writes since the request was sent. */
  hasCrossedLoss: boolean
  /** True after a 500: the log must not contain it. */
  mustBeFree: boolean
  /** Rows that the client has received, which must have been charged (R46). */
  least: number
  /** True if another request of the account overlapped with it. */
  hasCompany: boolean
  /** Credits that other requests of the account reserved and gave back meanwhile. Its headers may count them. */
  givenBack: number
}

export interface ModelKey {
  readonly accountId: string
  revokedAt: number | undefined
  /** True while it is unknown if the key is revoked. */
  isUnsure?: boolean
}

export interface ModelAccount {
  readonly id: string
  readonly name: string
  figures: Figures
  /** Requests whose charge is unknown, by id. */
  open: Map<string, OpenRequest>
  /** Incremented by every change of the figures other than searches. Headers of requests in between are not checked. */
  version: number
  /** True once searches have overlapped at the edge of the quota: their order determines which of them used packs. */
  isBlurred: boolean
  /** R49: none of its credentials is accepted. */
  isSuspended: boolean
  /** Time of the last change by an operator. */
  changedAt: number
  /** True if it buys its plan and packs from the payment provider. */
  isBuyer: boolean
  /** True while its books may still change to match the payment provider. */
  isMoving: boolean
  movedAt: number
  /** Credits spent from purchased packs. */
  fromPacks: number
  /** Credits charged in one of two periods, without knowing which. */
  straddling: number
}
