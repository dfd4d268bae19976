import type { Target } from "../../src/domain/search/Target.ts"
import type { Budget } from "../Model.ts"

/** A key with bounds, as known to its owner (R50). */
export interface BoundedKey {
  readonly accountId: string
  readonly epoch: number
  readonly budget: Budget
  readonly target: Target
  readonly expiresAt: number
  /** Bounds of the credits spent in each period: what was confirmed, and what is possible. */
  readonly spent: Map<number, { least: number; most: number }>
  id: string
  secret: string
  /** The secret before a rotation, and the end of its grace period (R51). */
  old: { readonly secret: string; readonly until: number } | undefined
}
