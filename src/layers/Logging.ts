import { Effect, Formatter, Layer, Logger, LogLevel, References, type Scope, Stdio } from "effect"
import { AppConfig } from "./Config.ts"

const isPlain = (value: unknown): boolean => ["string", "number", "boolean", "undefined"].includes(typeof value)

/** Effect's own serialisation looks into every value for secrets and cycles, and the access log has none to look into. */
const formatJson = Logger.map(Logger.formatStructured, (entry) =>
  isPlain(entry.message) && Object.values(entry.annotations).every(isPlain)
    ? JSON.stringify(entry)
    : Formatter.formatJson(entry)
)

/** What is held back at most, in characters: a burst is written in pieces. */
const maxHeld = 65_536

/**
 * Writes what one turn of the event loop logs at once: for each line alone, the console and the system would take more
 * than all else about it. Warnings and errors wait for nothing, and what is held when the process ends, by an exception
 * too, is written then. A reader that has gone away ends nothing, as with the console.
 */
const makeJson = (stream: NodeJS.WritableStream): Effect.Effect<Logger.Logger<unknown, void>, never, Scope.Scope> => {
  let held = ""
  const flush = (): void => {
    if (held === "") return
    const text = held
    held = ""
    stream.write(text)
  }
  const logger = Logger.make((options) => {
    const line = formatJson.log(options)
    if (held === "") setImmediate(flush)
    held += `${line}\n`
    if (held.length > maxHeld || LogLevel.isGreaterThan(options.logLevel, "Info")) flush()
  })
  return Effect.acquireRelease(
    Effect.sync(() => {
      // For the last of its errors too, which comes after the layer's end.
      stream.on("error", () => undefined)
      process.on("exit", flush)
      return logger
    }),
    () =>
      Effect.sync(() => {
        process.off("exit", flush)
        flush()
      })
  )
}

/**
 * The log, in the form and from the level that the operator chose. The server's goes to stdout; the CLI's goes to
 * stderr, because its stdout carries results.
 */
export const layer = (stream: "stdout" | "stderr"): Layer.Layer<never, never, AppConfig | Stdio.Stdio> =>
  Layer.unwrap(
    Effect.gen(function* () {
      const { logFormat, logLevel } = yield* AppConfig
      const stdio = yield* Stdio.Stdio
      const terminal = yield* stream === "stdout" ? stdio.stdoutIsTerminal : stdio.stderrIsTerminal
      const pretty = (logFormat ?? (terminal ? "pretty" : "json")) === "pretty"
      return Layer.mergeAll(
        Logger.layer([pretty ? Logger.consolePretty({ colors: terminal, mode: "tty" }) : makeJson(process[stream])]),
        Layer.succeed(References.MinimumLogLevel, logLevel),
        Layer.succeed(Logger.LogToStderr, stream === "stderr")
      )
    })
  )
