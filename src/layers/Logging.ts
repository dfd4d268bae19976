import { Effect, Formatter, Layer, Logger, LogLevel, References, type Scope, Stdio } from "effect"
import { AppConfig } from "./Config.ts"

const isPlain = (value: unknown): boolean => ["string", "number", "boolean", "undefined"].includes(typeof value)

/** What was logged, where it was one thing. */
const only = (message: unknown): unknown => (Array.isArray(message) && message.length === 1 ? message[0] : message)

/**
 * Effect's own serialisation looks into every value for secrets and cycles, and the access log has none to look into:
 * such an entry is written in the same form without it.
 */
const formatJson = Logger.make((options) => {
  const { cause, date, fiber, logLevel } = options
  const message = only(options.message)
  const annotations = fiber.getRef(References.CurrentLogAnnotations)
  const spans = fiber.getRef(References.CurrentLogSpans)
  const plain = isPlain(message) && Object.values(annotations).every(isPlain)
  if (!plain || cause.reasons.length > 0 || spans.length > 0) {
    return Formatter.formatJson(Logger.formatStructured.log(options))
  }
  const level = logLevel.toUpperCase()
  const timestamp = date.toISOString()
  return JSON.stringify({ message, level, timestamp, annotations, spans: {}, fiberId: `#${fiber.id}` })
})

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
