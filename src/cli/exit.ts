import { Cause, Effect, Exit } from "effect"
import { CliError } from "effect/cli"
import * as ProcessExit from "../process/exit.ts"

/*
 * The end of a command. Usage errors are recognised here and not in `process/exit.ts`, because the server must not load
 * the library of commands.
 */

const isUsage = (cause: Cause.Cause<unknown>): boolean => CliError.isCliError(Cause.squash(cause))

/** Says on stderr why a command failed. Usage errors have been shown already, with the help. */
export const complain = (cause: Cause.Cause<unknown>): Effect.Effect<void> =>
  isUsage(cause) ? Effect.void : ProcessExit.complain(cause)

/** 0 is success, an end by a signal included; 1 is a failure; 2 is a usage error. */
export const codeOf = (exit: Exit.Exit<unknown, unknown>): number =>
  Exit.isFailure(exit) && isUsage(exit.cause) ? 2 : ProcessExit.codeOf(exit)
