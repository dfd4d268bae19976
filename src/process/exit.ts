import { Cause, Console, Effect, Exit } from "effect"
import { explain } from "./explain.ts"

/**
 * Says on stderr why the process ends: in plain words where the operator can do something about it, with the whole
 * cause where the fault is ours.
 */
export const complain = (cause: Cause.Cause<unknown>): Effect.Effect<void> => {
  if (Cause.hasInterruptsOnly(cause)) return Effect.void
  const message = explain(cause)
  return Console.error(message === undefined ? Cause.pretty(cause) : message.replaceAll(/^/gm, "quarry: "))
}

/** 0 is success, an end by a signal included; 1 is a failure. */
export const codeOf = (exit: Exit.Exit<unknown, unknown>): number =>
  Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause) ? 0 : 1
