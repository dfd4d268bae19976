import { Console } from "node:console"
import { styleText } from "node:util"
import {
  Array as Arr,
  Cause,
  Context,
  Effect,
  Formatter,
  Layer,
  Logger,
  LogLevel,
  References,
  type Scope,
  Stdio
} from "effect"
import { AppConfig } from "../settings/Settings.ts"

/** Longer lines could fill a disk, and log collectors drop them. */
const maxLineBytes = 8_192

/** The worst case is an escape such as `\u0000`. */
const maxBytesPerCharacter = 6

/** The values of a line that is too long are cut to the first of these lengths at which the line fits. */
const minCut = 64
const cuts = [4_096, 1_024, 256, minCut]

const isPlain = (value: unknown): boolean => ["string", "number", "boolean", "undefined"].includes(typeof value)

const cut = (value: unknown, maxCharacters: number): unknown => {
  if (isPlain(value) && typeof value !== "string") return value
  const text = typeof value === "string" ? value : Formatter.formatJson(value)
  if (text.length <= maxCharacters) return value
  return `${text.slice(0, maxCharacters)}… (${text.length} characters)`
}

const cutAll = (values: Readonly<Record<string, unknown>>, maxCharacters: number): Record<string, unknown> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, cut(value, maxCharacters)]))

type Entry = ReturnType<typeof Logger.formatStructured.log>

/** Effect's slower formatter looks for secrets and cycles, which primitive values (as in the access log) lack. */
const toJson = (entry: Entry): string =>
  isPlain(entry.message) && Object.values(entry.annotations).every(isPlain)
    ? JSON.stringify(entry)
    : Formatter.formatJson(entry)

const fits = (line: string): boolean =>
  line.length * maxBytesPerCharacter <= maxLineBytes || Buffer.byteLength(line) <= maxLineBytes

const formatJson = Logger.map(Logger.formatStructured, (entry) => {
  const line = toJson(entry)
  if (fits(line)) return line
  for (const maxCharacters of cuts) {
    const shorter = JSON.stringify({
      ...entry,
      message: cut(entry.message, maxCharacters),
      cause: cut(entry.cause, maxCharacters),
      annotations: cutAll(entry.annotations, maxCharacters)
    })
    if (fits(shorter)) return shorter
  }
  const message = cut(entry.message, minCut)
  return JSON.stringify({ ...entry, message, cause: cut(entry.cause, minCut), annotations: {}, spans: {} })
})

const maxBufferCharacters = 65_536

/** Writes once per event loop turn, because a write costs more than formatting a line. Warnings are written at once. */
const makeJson = (stream: NodeJS.WritableStream): Effect.Effect<Logger.Logger<unknown, void>, never, Scope.Scope> => {
  let buffer = ""
  const flush = (): void => {
    if (buffer === "") return
    const text = buffer
    buffer = ""
    stream.write(text)
  }
  const logger = Logger.make((options) => {
    const line = formatJson.log(options)
    if (buffer === "") setImmediate(flush)
    buffer += `${line}\n`
    if (buffer.length > maxBufferCharacters || LogLevel.isGreaterThan(options.logLevel, "Info")) flush()
  })
  return Effect.acquireRelease(
    Effect.sync(() => {
      // Never removed, because the last error can come after the layer has closed.
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

const maxPrettyCharacters = 2_048

/** Quotes spaces and control characters, which would act on the terminal. */
const field = ([name, value]: readonly [string, unknown]): string => {
  const text = typeof value === "string" ? value : Formatter.formatJson(value)
  return `${name}=${/^[\w./:@+-]+$/.test(text) ? text : JSON.stringify(text)}`
}

const levelColor = (level: LogLevel.LogLevel): "green" | "yellow" | "red" => {
  if (LogLevel.isGreaterThan(level, "Warn")) return "red"
  return level === "Warn" ? "yellow" : "green"
}

/** The access log's message consists of these fields, and a route may be the path. */
const fieldsInMessage: ReadonlySet<string> = new Set(["method", "path", "route", "status"])

/** One line per entry, without fields that repeat its message, so that the greeting stays on the screen. */
const makePretty = (colors: boolean, stream: "stdout" | "stderr"): Logger.Logger<unknown, void> => {
  const paint = (format: "gray" | ReturnType<typeof levelColor>, text: string): string =>
    colors ? styleText(format, text, { validateStream: false }) : text
  const target = new Console(process[stream])
  return Logger.make(({ cause, date, fiber, logLevel, message }) => {
    const annotations = cutAll(fiber.getRef(References.CurrentLogAnnotations), maxPrettyCharacters)
    const texts = Arr.ensure(message).map((value) => cut(value, maxPrettyCharacters))
    const said = texts.map((value) => (typeof value === "string" ? value : Formatter.formatJson(value))).join(" ")
    const words = said.split(" ")
    const all = Object.entries(annotations)
      .filter(([name, value]) => !fieldsInMessage.has(name) || !words.includes(String(value)))
      .map(field)
      .join(" ")
    const fields = fits(said + all) ? all : `${all.slice(0, maxPrettyCharacters)}…`
    const time = paint("gray", date.toISOString().slice(11, 19))
    const parts = [time, paint(levelColor(logLevel), logLevel.toUpperCase()), said]
    const line = [...parts, ...(fields === "" ? [] : [paint("gray", fields)])].join(" ")
    const causes = cause.reasons.length === 0 ? "" : `\n${cut(Cause.pretty(cause), maxPrettyCharacters)}`
    target.log(line + causes)
  })
}

export const LogFormat = Context.Reference<"pretty" | "json">("quarry/references/LogFormat", {
  defaultValue: () => "pretty"
})

export const layer = (stream: "stdout" | "stderr"): Layer.Layer<never, never, AppConfig | Stdio.Stdio> =>
  Layer.unwrap(
    Effect.gen(function* () {
      const { logFormat, logLevel } = yield* AppConfig
      const stdio = yield* Stdio.Stdio
      const terminal = yield* stream === "stdout" ? stdio.stdoutIsTerminal : stdio.stderrIsTerminal
      const format = logFormat ?? (terminal ? "pretty" : "json")
      return Layer.mergeAll(
        Logger.layer([format === "pretty" ? makePretty(terminal, stream) : makeJson(process[stream])]),
        Layer.succeed(LogFormat, format),
        Layer.succeed(References.MinimumLogLevel, logLevel),
        Layer.succeed(Logger.LogToStderr, stream === "stderr")
      )
    })
  )
