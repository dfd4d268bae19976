import { Effect, Layer, Logger, References, Stdio } from "effect"
import { AppConfig } from "./Config.ts"

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
      const json = onStderr ? Logger.withConsoleError(Logger.formatJson) : Logger.consoleJson
      return Layer.mergeAll(
        Logger.layer([pretty ? Logger.consolePretty({ colors: terminal, mode: "tty" }) : json]),
        Layer.succeed(References.MinimumLogLevel, logLevel),
        Layer.succeed(Logger.LogToStderr, onStderr)
      )
    })
  )
