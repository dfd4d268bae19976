import { Context, type Effect } from "effect"

export interface Pace {
  /** Whose pace it is: everything that goes by the same name shares it. */
  readonly name: string
  readonly perSecond: number
  /** How long the caller would wait for its turn. */
  readonly withinMs: number
}

/**
 * Between two turns of a name. Evenly spaced, so that no window of a second holds more than `perSecond` however the
 * upstream counts, and a quarter wider than that, because a call may arrive late: over a new connection it takes
 * hundreds of milliseconds longer than those after it, and catches up with none of them this way.
 */
export const intervalMs = (perSecond: number): number => 1_250 / perSecond

/** Hands out turns, so that an upstream's limit on requests per second is kept by all that call it. Never fails. */
export class Pacer extends Context.Service<
  Pacer,
  {
    /** Takes the next turn; answers the milliseconds until it, or undefined when it comes too late, which takes none. */
    readonly take: (pace: Pace) => Effect.Effect<number | undefined>
  }
>()("quarry/services/Pacer") {}
