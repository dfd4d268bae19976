import { Context, type Effect } from "effect"
import type { HoldsStatus } from "../../domain/operations/Status.ts"

/** Times are Unix milliseconds of the database's clock. */
export interface ListedHold {
  readonly id: string
  readonly accountId: string
  readonly fromQuota: number
  readonly fromBalance: number
  readonly expiresAt: number
  readonly isOverdue: boolean
}

export interface HoldFilter {
  readonly accountId?: string | undefined
  readonly overdueOnly: boolean
  readonly limit: number
}

/**
 * Open holds: of running searches, and of crashed ones until the sweeper returns them. A hold is overdue one minute
 * after its lease expired, because the sweeper should have returned it by then.
 */
export class Holds extends Context.Service<
  Holds,
  {
    /** Ordered by the end of their lease. */
    readonly list: (filter: HoldFilter) => Effect.Effect<ReadonlyArray<ListedHold>>
    readonly count: Effect.Effect<HoldsStatus>
  }
>()("quarry/services/credits/Holds") {}
