import { Effect, Formatter, Layer, Logger, References, Stdio } from "effect"
import { AppConfig } from "./Config.ts"

const isPlain = (value: unknown): boolean => ["string", "number", "boolean", "undefined"].includes(typeof value)

/** Effect's own serialisation looks into every value for secrets and cycles, and the access log has none to look into. */
const formatJson = Logger.map(Logger.formatStructured, (entry) =>
  isPlain(entry.message) && Object.values(entry.annotations).every(isPlain)
    ? JSON.stringify(entry)
    : Formatter.formatJson(entry)
)

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
      const onStderr = stream === "stderr"
      const json = onStderr ? Logger.withConsoleError(formatJson) : Logger.withConsoleLog(formatJson)
      return Layer.mergeAll(
        Logger.layer([pretty ? Logger.consolePretty({ colors: terminal, mode: "tty" }) : json]),
        Layer.succeed(References.MinimumLogLevel, logLevel),
        Layer.succeed(Logger.LogToStderr, onStderr)
      )
    })
  )
