import { Context, type Effect } from "effect"

export interface Pace {
  /** Calls with the same name share one pace. */
  readonly name: string
  readonly perSecond: number
  /** The longest wait for a slot. */
  readonly withinMs: number
}

/**
 * The interval between two calls. Even spacing keeps every second within `perSecond`. It is longer than necessary by a
 * quarter, at most by 100 ms, because a call on a new connection arrives late and thus closer to the next.
 */
export const intervalMs = (perSecond: number): number => 1_000 / perSecond + marginMs(perSecond)

const marginMs = (perSecond: number): number => Math.min(250 / perSecond, 100)

/** Milliseconds by which a call may be late for its slot without bringing more than `perSecond` calls into a second. */
export const maxLatenessMs = (perSecond: number): number =>
  Math.min(Math.max(1, Math.floor(perSecond)) * marginMs(perSecond), 150)

/** Assigns time slots to calls, so that all callers together respect an upstream's rate limit. Never fails. */
export class Pacer extends Context.Service<
  Pacer,
  {
    /** Milliseconds until the slot. Undefined, without taking one, if it is too late. */
    readonly take: (pace: Pace) => Effect.Effect<number | undefined>
  }
>()("quarry/services/providers/Pacer") {}
