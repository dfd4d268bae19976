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

/** The longest line: it must not fill a disk, nor be dropped by log collectors. */
const maxLineBytes = 8_192

/** One character takes six bytes at most, as `\u0000` in JSON. */
const maxBytesPerCharacter = 6

/**
 * The lengths to which the values of a line that is too long are cut, in characters. The first is taken with which the
 * line fits.
 */
const minCut = 64
const cuts = [4_096, 1_024, 256, minCut]

const isPlain = (value: unknown): boolean => ["string", "number", "boolean", "undefined"].includes(typeof value)

/** The value where it is short, else its beginning as text. */
const cut = (value: unknown, maxCharacters: number): unknown => {
  if (isPlain(value) && typeof value !== "string") return value
  const text = typeof value === "string" ? value : Formatter.formatJson(value)
  if (text.length <= maxCharacters) return value
  return `${text.slice(0, maxCharacters)}… (${text.length} characters)`
}

const cutAll = (values: Readonly<Record<string, unknown>>, maxCharacters: number): Record<string, unknown> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, cut(value, maxCharacters)]))

type Entry = ReturnType<typeof Logger.formatStructured.log>

/** Effect's own serialisation looks into every value for secrets and cycles, and the access log has none to look into. */
const toJson = (entry: Entry): string =>
  isPlain(entry.message) && Object.values(entry.annotations).every(isPlain)
    ? JSON.stringify(entry)
    : Formatter.formatJson(entry)

const fits = (line: string): boolean =>
  line.length * maxBytesPerCharacter <= maxLineBytes || Buffer.byteLength(line) <= maxLineBytes

/** The entry as one line of JSON, of at most `maxLineBytes`. */
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
  // Its annotations or spans are too many: none is kept.
  const message = cut(entry.message, minCut)
  return JSON.stringify({ ...entry, message, cause: cut(entry.cause, minCut), annotations: {}, spans: {} })
})

/** The most characters that are buffered: a burst is written in pieces. */
const maxBufferCharacters = 65_536

/**
 * Writes the lines of one turn of the event loop at once, because a write of its own costs more than the rest of a
 * line. Warnings and errors are written immediately. The buffer is written when the process ends, by an exception too.
 * A reader that has gone away ends nothing, as with the console.
 */
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
      // Stays after the end of the layer, because the last error may come then.
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

/** The most characters of one value for a person: message, cause and each annotation have lines of their own. */
const maxPrettyCharacters = 2_048

/** The log for a person at a terminal, with long values cut. */
const makePretty = (colors: boolean): Logger.Logger<unknown, void> => {
  const pretty = Logger.consolePretty({ colors, mode: "tty" })
  return Logger.make((options) => {
    const { cause, fiber } = options
    const annotations = cutAll(fiber.getRef(References.CurrentLogAnnotations), maxPrettyCharacters)
    const message = Arr.ensure(options.message).map((value) => cut(value, maxPrettyCharacters))
    const causes = cause.reasons.length === 0 ? [] : [cut(Cause.pretty(cause), maxPrettyCharacters)]
    // The logger reads annotations from its fiber: this is the same fiber with other annotations.
    const cutFiber: typeof fiber = Object.create(fiber, {
      getRef: {
        value: <A>(ref: Context.Reference<A>): unknown =>
          ref === References.CurrentLogAnnotations ? annotations : fiber.getRef(ref)
      }
    })
    pretty.log({ ...options, cause: Cause.empty, message: [...message, ...causes], fiber: cutFiber })
  })
}

/** The form of this process's log, for other lines that it prints. */
export const LogFormat = Context.Reference<"pretty" | "json">("quarry/process/LogFormat", {
  defaultValue: () => "pretty"
})

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
      const format = logFormat ?? (terminal ? "pretty" : "json")
      return Layer.mergeAll(
        Logger.layer([format === "pretty" ? makePretty(terminal) : makeJson(process[stream])]),
        Layer.succeed(LogFormat, format),
        Layer.succeed(References.MinimumLogLevel, logLevel),
        Layer.succeed(Logger.LogToStderr, stream === "stderr")
      )
    })
  )
