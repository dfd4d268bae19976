import { Console, DateTime, Effect, Redacted } from "effect"
import { LogFormat } from "../Logging.ts"

/** A valid email address under a reserved domain that nobody can register (RFC 6761). */
export const developerEmail = "developer@quarry.localhost"

export interface DeveloperAccess {
  readonly key: Redacted.Redacted
  /** Sets the password for the dashboard. Works once, within one hour. */
  readonly link: Redacted.Redacted
}

export interface Greeting {
  readonly bound: string
  readonly baseUrl: string
  readonly access: DeveloperAccess | undefined
  /** Undefined with a database server. */
  readonly store: EmbeddedStore | undefined
  /** True if no provider is configured, so that only the built-in index is searched. */
  readonly searchesOnlyIndex?: boolean
}

export interface EmbeddedStore {
  readonly dataDir: string
  readonly embeddedSync: "on" | "off"
}

export interface Terminal {
  readonly columns: number
  readonly hasColors: boolean
}

const searchLine = ({ baseUrl }: Greeting, { key }: DeveloperAccess): string =>
  `curl -H 'Authorization: Bearer ${Redacted.value(key)}' '${baseUrl}/v1/query?query=http+caching'`

const listens = ({ baseUrl, bound }: Greeting): string => `Quarry listens at ${bound} (BASE_URL is ${baseUrl})`

const elsewhere = ({ baseUrl, bound }: Greeting): string =>
  new URL(bound).port === new URL(baseUrl).port ? "" : ` (listens at ${bound})`

export const storageLine = ({ dataDir, embeddedSync }: EmbeddedStore): string => {
  if (dataDir === "memory:") return "Data is in memory only. Set DATA_DIR or DATABASE_URL to keep it."
  return embeddedSync === "on"
    ? `Data is in ${dataDir}. It survives a killed process and a power cut.`
    : `Data is in ${dataDir}. It survives a killed process, but not a power cut (EMBEDDED_SYNC is off).`
}

/** Needs no key and no container. As wide as a frame of 80 columns allows. */
const openWebLine = "Search the open web: QUARRY_PROVIDERS=examples/providers/open.json npm start"

const factsOf = (greeting: Greeting): ReadonlyArray<string> => {
  const { access, baseUrl, store } = greeting
  return [
    `Quarry is ready: ${baseUrl}${elsewhere(greeting)}. Ctrl-C stops it.`,
    ...(access === undefined
      ? [`Dashboard: ${baseUrl}/dashboard`]
      : [
          `Dashboard: set the password of ${developerEmail} (within 1 hour)`,
          Redacted.value(access.link),
          `Key (shown once): ${Redacted.value(access.key)}`
        ]),
    ...(store === undefined ? [] : [storageLine(store)]),
    ...(greeting.searchesOnlyIndex === true ? [openWebLine] : [])
  ]
}

const green = (text: string): string => `\u001b[32m${text}\u001b[39m`

/** Leaves out the frame if it does not fit, because lines must not wrap and a frame must not cut a URL. */
const framed = (lines: ReadonlyArray<string>, { columns, hasColors }: Terminal): ReadonlyArray<string> => {
  const width = Math.max(...lines.map((line) => line.length))
  if (!hasColors || width + "│  │".length > columns) return lines
  const edge = "─".repeat(width + 2)
  const bar = green("│")
  return [green(`╭${edge}╮`), ...lines.map((line) => `${bar} ${line.padEnd(width)} ${bar}`), green(`╰${edge}╯`)]
}

export const greetingLines = (greeting: Greeting, terminal: Terminal): ReadonlyArray<string> => [
  ...framed(factsOf(greeting), terminal),
  ...(greeting.access === undefined ? [] : ["Try it:", searchLine(greeting, greeting.access)])
]

const terminalOf = ({ columns, isTTY }: NodeJS.WriteStream): Terminal => ({
  columns: columns ?? 80,
  // Observes NO_COLOR and TERM.
  hasColors: isTTY === true && process.stdout.hasColors()
})

const greetPretty = (greeting: Greeting) => Console.log(greetingLines(greeting, terminalOf(process.stdout)).join("\n"))

/** Prints entries in the log's format without logging them: exported logs must not contain the secrets. */
const greetJson = Effect.fnUntraced(function* (greeting: Greeting) {
  const { access, baseUrl, bound } = greeting
  const entry = (message: string, fields: Readonly<Record<string, string>>) =>
    Effect.flatMap(DateTime.now, (now) =>
      Console.log(JSON.stringify({ message, level: "INFO", timestamp: DateTime.formatIso(now), ...fields }))
    )
  yield* entry(listens(greeting), { address: bound, base_url: baseUrl })
  if (greeting.searchesOnlyIndex === true) yield* entry(openWebLine, {})
  if (access === undefined) return
  const curl = searchLine(greeting, access)
  const key = Redacted.value(access.key)
  yield* entry(`An account for you to develop with. Its API key is shown only once: ${curl}`, {
    base_url: baseUrl,
    key,
    curl
  })
  const link = Redacted.value(access.link)
  yield* entry(`Set the password of ${developerEmail} for the dashboard here, once and within one hour: ${link}`, {
    base_url: baseUrl,
    link
  })
})

export const greet = Effect.fnUntraced(function* (greeting: Greeting) {
  yield* (yield* LogFormat) === "json" ? greetJson(greeting) : greetPretty(greeting)
})

/** A log gets no progress: it begins with the result of the start. */
export const tell = Effect.fnUntraced(function* (message: string) {
  if ((yield* LogFormat) === "pretty") yield* Console.log(message)
})
