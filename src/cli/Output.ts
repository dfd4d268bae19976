import { Console, Context, DateTime, Effect, Ref } from "effect"
import { CliOutput, Flag, GlobalFlag } from "effect/cli"
import { OperatorError } from "../domain/OperatorError.ts"

/** `--json`, on every command. */
export const Json = GlobalFlag.Setting("json")({
  flag: Flag.Boolean("json").pipe(
    Flag.withDescription("Print one JSON object on stdout and nothing else there"),
    Flag.withDefault(false)
  )
})

/** The command was understood and cannot be done; the message says why. */
export class CommandFailed extends OperatorError("CommandFailed") {}

/** Nothing is there under the id or the name that the operator gave. */
export class NotFound extends OperatorError("NotFound") {}

/** True once the command has printed its result. A failure after it prints no second object. */
export const Printed = Context.Reference("quarry/cli/Printed", { defaultValue: () => Ref.makeUnsafe(false) })

/** Keeps a failure after this from printing an object. */
export const notePrinted = Effect.flatMap(Printed, (printed) => Ref.set(printed, true))

/** Prints a command's result: the object on one line with `--json`, else the lines for a person. */
export const print = Effect.fnUntraced(function* (json: object, lines: ReadonlyArray<string>) {
  yield* notePrinted
  yield* Console.log((yield* Json) ? JSON.stringify(json) : lines.join("\n"))
})

/** Unix milliseconds as an ISO 8601 time in UTC; null where there is none. */
export const time = (millis: number | undefined): string | null =>
  millis === undefined ? null : DateTime.formatIso(DateTime.makeUnsafe(millis))

/** The text of issues without their fields, because a command has none. */
export const textOf = (issues: ReadonlyArray<{ readonly message: string }>): string =>
  issues.map(({ message }) => message).join("; ")

/**
 * The text with its control characters, line ends and changes of direction as escapes such as `\u{1b}`. Clients choose
 * the texts of searches and of sources, and a terminal would obey what is written there.
 */
const withoutControls = (text: string): string =>
  text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu, (character) => {
    return `\\u{${character.codePointAt(0)?.toString(16)}}`
  })

/** Rows in columns as wide as their widest cell. */
export const table = (raw: ReadonlyArray<ReadonlyArray<string>>): ReadonlyArray<string> => {
  const rows = raw.map((row) => row.map(withoutControls))
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? "").length)))
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd()
  )
}

/** The library's sentence about a value, with which our own texts ("must be …") go on. */
export const withoutLibraryWords = (text: string): string =>
  text.replaceAll("Expected: Schema validation failed: must", "It must")

/**
 * Keeps stdout for results. Help after a mistyped command goes to stderr with its errors, so that a script never reads
 * it as an answer.
 */
export const presenter: CliOutput.Presenter = {
  present: (event) =>
    Effect.gen(function* () {
      const formatter = CliOutput.defaultFormatter()
      switch (event._tag) {
        case "Version":
          return yield* Console.log(formatter.formatVersion(event.name, event.version))
        case "Help": {
          const write = event.reason === "Requested" ? Console.log : Console.error
          return yield* write(formatter.formatHelpDoc(event.helpDoc))
        }
        case "InvalidInvocation":
          yield* Console.error(withoutLibraryWords(formatter.formatErrors(event.errors).trimStart()))
          return yield* Console.error(`\nSee: ${event.commandPath.join(" ")} --help`)
      }
    })
}
