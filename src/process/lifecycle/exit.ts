import { Cause, Console, Data, Effect, Exit } from "effect"
import { explain } from "./explain.ts"

/** The process ends for a reason that another process has already printed. */
export class AlreadySaid extends Data.TaggedError("AlreadySaid") {}

const isSaid = ({ reasons }: Cause.Cause<unknown>): boolean =>
  reasons.some((reason) => Cause.isFailReason(reason) && reason.error instanceof AlreadySaid)

export const complain = (cause: Cause.Cause<unknown>): Effect.Effect<void> => {
  if (Cause.hasInterruptsOnly(cause) || isSaid(cause)) return Effect.void
  const message = explain(cause)
  return Console.error(message === undefined ? Cause.pretty(cause) : message.replaceAll(/^/gm, "quarry: "))
}

export const codeOf = (exit: Exit.Exit<unknown, unknown>): number =>
  Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause) ? 0 : 1
