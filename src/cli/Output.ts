import { Console, Context, Effect, Ref } from "effect"
import { CliOutput, Flag, GlobalFlag } from "effect/cli"
import { OperatorError } from "../domain/OperatorError.ts"

export const Json = GlobalFlag.Setting("json")({
  flag: Flag.Boolean("json").pipe(
    Flag.withDescription("Print one JSON object on stdout and nothing else there"),
    Flag.withDefault(false)
  )
})

export { CommandFailed } from "../domain/OperatorError.ts"
export { toMomentOrNull as time } from "../domain/requests/fields.ts"

export class NotFound extends OperatorError("NotFound") {}

/** True once the command has printed its result, so that a later failure does not print a second object. */
export const Printed = Context.Reference("quarry/references/Printed", { defaultValue: () => Ref.makeUnsafe(false) })

export const notePrinted = Effect.flatMap(Printed, (printed) => Ref.set(printed, true))

/** Prints a result: the object on one line with `--json`, otherwise the lines. */
export const print = Effect.fnUntraced(function* (json: object, lines: ReadonlyArray<string>) {
  yield* notePrinted
  yield* Console.log((yield* Json) ? JSON.stringify(json) : lines.join("\n"))
})

/** Joins issue messages without their fields, which mean nothing in a command. */
export const textOf = (issues: ReadonlyArray<{ readonly message: string }>): string =>
  issues.map(({ message }) => message).join("; ")

/** Escapes control, line-break and bidi characters, because clients choose this text and a terminal would run it. */
export const withoutControls = (text: string): string =>
  text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu, (character) => {
    return `\\u{${character.codePointAt(0)?.toString(16)}}`
  })

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

/** A table below an empty line. Nothing if it has no rows. */
export const section = (head: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>) =>
  rows.length === 0 ? [] : ["", ...table([head, ...rows])]

/** Joins the library's message prefix and our own text ("must be …") into one sentence. */
export const withoutLibraryWords = (text: string): string =>
  text.replaceAll("Expected: Schema validation failed: must", "It must")

/** Sends help after a mistyped command to stderr, so that a script never reads it as output. */
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
