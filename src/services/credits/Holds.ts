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

/** Open holds. The sweeper returns a crashed search's hold, which is overdue a minute after the end of its lease. */
export class Holds extends Context.Service<
  Holds,
  {
    readonly list: (filter: HoldFilter) => Effect.Effect<ReadonlyArray<ListedHold>>
    readonly count: Effect.Effect<HoldsStatus>
  }
>()("quarry/services/Holds") {}
