import { Context, type Effect } from "effect"

export interface Pace {
  /** Calls with the same name share one pace. */
  readonly name: string
  readonly perSecond: number
  /** The longest that the caller waits for its turn. */
  readonly withinMs: number
}

/**
 * The time between two turns of a name. Even spacing keeps every window of a second within `perSecond`. The interval is
 * a quarter longer than that, because a call over a new connection arrives late and so closer to the next one.
 */
export const intervalMs = (perSecond: number): number => 1_250 / perSecond

/** Assigns turns to calls, so that all callers together stay within an upstream's requests per second. Never fails. */
export class Pacer extends Context.Service<
  Pacer,
  {
    /** Takes the next turn and returns the milliseconds until it; undefined, and none taken, where it is too late. */
    readonly take: (pace: Pace) => Effect.Effect<number | undefined>
  }
>()("quarry/services/Pacer") {}
