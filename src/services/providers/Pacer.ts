import { Context, type Effect } from "effect"

export interface Pace {
  readonly name: string
  readonly perSecond: number
  readonly withinMs: number
}

/** Even spacing keeps every second within `perSecond`. The factor 1.25 allows for late calls on new connections. */
export const intervalMs = (perSecond: number): number => 1_250 / perSecond

/** Assigns time slots to calls, so that all callers together respect an upstream's rate limit. Never fails. */
export class Pacer extends Context.Service<
  Pacer,
  {
    /** Milliseconds until the slot. Undefined, without taking one, if it is too late. */
    readonly take: (pace: Pace) => Effect.Effect<number | undefined>
  }
>()("quarry/services/Pacer") {}
