import type { Target } from "../../src/domain/search/Target.ts"
import type { Budget } from "../Model.ts"

/** A key with bounds, as the one who handed it out knows it (R50). */
export interface BoundedKey {
  readonly accountId: string
  readonly epoch: number
  readonly budget: Budget
  readonly target: Target
  readonly expiresAt: number
  /** Credits spent in each period: those that were seen, and those that may have been. */
  readonly spent: Map<number, { least: number; most: number }>
  id: string
  secret: string
  /** The secret before a rotation, and the end of its grace (R51). */
  old: { readonly secret: string; readonly until: number } | undefined
}
