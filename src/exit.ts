import { Cause, Console, Effect, Exit } from "effect"
import { CliError } from "effect/cli"
import { Refused } from "./cli/Output.ts"
import { NotFound } from "./domain/errors.ts"
import { DocumentFileError } from "./layers/DocumentFile.ts"
import { explain } from "./layers/StartFailure.ts"
import { AccountError } from "./services/Accounts.ts"

const isUsage = (cause: Cause.Cause<unknown>): boolean => CliError.isCliError(Cause.squash(cause))

const refusals = [Refused, NotFound, AccountError, DocumentFileError]

const messageOf = (cause: Cause.Cause<unknown>): string | undefined => {
  const error = Cause.squash(cause)
  const refused = error instanceof Error && refusals.some((Refusal) => error instanceof Refusal)
  return refused ? error.message : explain(cause)
}

/**
 * Says on stderr why the process ends: in plain words where the operator can do something about it, with the whole
 * cause where the fault is ours. Usage errors have been shown already, with the help.
 */
export const complain = (cause: Cause.Cause<unknown>): Effect.Effect<void> => {
  if (Cause.hasInterruptsOnly(cause) || isUsage(cause)) return Effect.void
  const message = messageOf(cause)
  return Console.error(message === undefined ? Cause.pretty(cause) : message.replaceAll(/^/gm, "quarry: "))
}

/** 0 done, stopped by a signal included; 1 refused; 2 usage. */
export const codeOf = (exit: Exit.Exit<unknown, unknown>): number => {
  if (Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause)) return 0
  return isUsage(exit.cause) ? 2 : 1
}
