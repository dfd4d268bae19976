import { Cause, Console, Data, Effect, Exit } from "effect"
import { explain } from "./explain.ts"

/** The process ends for a reason that another process has said already. */
export class AlreadySaid extends Data.TaggedError("AlreadySaid") {}

const isSaid = ({ reasons }: Cause.Cause<unknown>): boolean =>
  reasons.some((reason) => Cause.isFailReason(reason) && reason.error instanceof AlreadySaid)

/**
 * Says on stderr why the process ends: in plain words where the operator can do something about it, with the whole
 * cause where the fault is ours.
 */
export const complain = (cause: Cause.Cause<unknown>): Effect.Effect<void> => {
  if (Cause.hasInterruptsOnly(cause) || isSaid(cause)) return Effect.void
  const message = explain(cause)
  return Console.error(message === undefined ? Cause.pretty(cause) : message.replaceAll(/^/gm, "quarry: "))
}

/** 0 is success, an end by a signal included; 1 is a failure. */
export const codeOf = (exit: Exit.Exit<unknown, unknown>): number =>
  Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause) ? 0 : 1
