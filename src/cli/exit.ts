import { Cause, Effect, Exit, Predicate, String as Text } from "effect"
import { CliError } from "effect/cli"
import { isOperatorError } from "../domain/OperatorError.ts"
import * as ProcessExit from "../process/exit.ts"
import { explain } from "../process/explain.ts"
import { withoutLibraryWords } from "./Output.ts"

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

/** The object that a failing command prints with `--json`. */
export interface Failure {
  /** `usage`; the name of an error that the operator can mend, in snake case; `unavailable`; `internal_error`. */
  readonly error: string
  readonly message: string
}

const usageMessage = (error: CliError.CliError): string => {
  if (error._tag !== "ShowHelp") return error.message
  const messages = error.errors.map(({ message }) => withoutLibraryWords(message))
  return messages.length > 0 ? messages.join("; ") : `Name a command: ${error.commandPath.join(" ")} --help lists them.`
}

const failureCode = (error: unknown): string =>
  isOperatorError(error) && Predicate.hasProperty(error, "_tag") ? Text.pascalToSnake(`${error._tag}`) : "unavailable"

/** The failure for programs; undefined for an end by a signal. It holds nothing that stderr does not show too. */
export const failureOf = (cause: Cause.Cause<unknown>): Failure | undefined => {
  if (Cause.hasInterruptsOnly(cause)) return undefined
  const error = Cause.squash(cause)
  if (CliError.isCliError(error)) return { error: "usage", message: usageMessage(error) }
  const message = explain(cause)
  return message === undefined
    ? { error: "internal_error", message: "A fault of Quarry. The whole cause is on stderr." }
    : { error: failureCode(error), message }
}
