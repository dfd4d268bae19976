import { Context, type Effect } from "effect"
import type { HoldsStatus } from "../domain/Status.ts"

/** A hold as the operator looks at it. Times are Unix milliseconds on the store's clock. */
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
 * The holds that have not ended: those of searches that run, and those of crashed searches until the sweeper comes. A
 * hold is overdue a minute after its lease ran out, because the sweeper had its time by then.
 */
export class Holds extends Context.Service<
  Holds,
  {
    /** The holds whose lease ends first. */
    readonly list: (filter: HoldFilter) => Effect.Effect<ReadonlyArray<ListedHold>>
    readonly count: Effect.Effect<HoldsStatus>
  }
>()("quarry/services/Holds") {}
