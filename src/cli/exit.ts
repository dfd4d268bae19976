import { Cause, Effect, Exit, Predicate, String as Text } from "effect"
import { CliError } from "effect/cli"
import { isOperatorError } from "../domain/OperatorError.ts"
import * as ProcessExit from "../process/lifecycle/exit.ts"
import { explain } from "../process/lifecycle/explain.ts"
import { withoutLibraryWords } from "./Output.ts"

// Separate from `process/lifecycle/exit.ts`, because the server must not load the command library.

const isUsage = (cause: Cause.Cause<unknown>): boolean => CliError.isCliError(Cause.squash(cause))

/** Stays silent for usage errors, which the command library has already printed with the help. */
export const complain = (cause: Cause.Cause<unknown>): Effect.Effect<void> =>
  isUsage(cause) ? Effect.void : ProcessExit.complain(cause)

/** 0 for success or a signal, 1 for a failure, 2 for a usage error. */
export const codeOf = (exit: Exit.Exit<unknown, unknown>): number =>
  Exit.isFailure(exit) && isUsage(exit.cause) ? 2 : ProcessExit.codeOf(exit)

export interface Failure {
  /** `usage`, `unavailable`, `internal_error`, or the snake-case name of an error the operator can fix. */
  readonly error: string
  readonly message: string
}

const usageMessage = (error: CliError.CliError): string => {
  if (error._tag !== "ShowHelp") return error.message
  const messages = error.errors.map(({ message }) => withoutLibraryWords(message))
  return messages.length > 0
    ? messages.join("; ")
    : `No command was given. Run ${error.commandPath.join(" ")} --help for a list.`
}

const failureCode = (error: unknown): string =>
  isOperatorError(error) && Predicate.hasProperty(error, "_tag") ? Text.pascalToSnake(`${error._tag}`) : "unavailable"

/** Undefined if a signal ended the command. Contains nothing that is not also on stderr. */
export const failureOf = (cause: Cause.Cause<unknown>): Failure | undefined => {
  if (Cause.hasInterruptsOnly(cause)) return undefined
  const error = Cause.squash(cause)
  if (CliError.isCliError(error)) return { error: "usage", message: usageMessage(error) }
  const message = explain(cause)
  return message === undefined
    ? { error: "internal_error", message: "This is a fault of Quarry. The full cause is on stderr." }
    : { error: failureCode(error), message }
}
