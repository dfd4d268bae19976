import {
  Config,
  ConfigProvider,
  Context,
  Duration,
  Effect,
  Layer,
  type LogLevel,
  Option,
  Redacted,
  Result
} from "effect"
import { constantCase } from "effect/String"
import { OperatorError } from "../domain/OperatorError.ts"
import { paidPlans } from "../domain/Plan.ts"
import { type Target, targets } from "../domain/Target.ts"

/** Settings that are wrong or contradict each other, one a line. */
export class SettingsInvalid extends OperatorError("SettingsInvalid") {}

/** The value a variable's text stands for; undefined where it stands for none. */
type Reader<A> = (text: string) => A | undefined

const anyText: Reader<string> = (text) => text

/** A name or an address alone: with a scheme, a port or a path in it nothing can be bound. */
const hostName: Reader<string> = (text) => (/^[\w.:%-]+$/.test(text) ? text : undefined)

const secretText: Reader<Redacted.Redacted> = Redacted.make

/** What signs sessions and digests keys must not be guessed: `openssl rand -base64 32` gives 44 characters. */
const minSecretCharacters = 32

const signingSecret: Reader<Redacted.Redacted> = (text) =>
  text.trim().length >= minSecretCharacters ? Redacted.make(text) : undefined

const takesSigningSecret = `a random text of at least ${minSecretCharacters} characters, such as \`openssl rand -base64 32\` makes`

const oneOf =
  <const A extends string>(...values: ReadonlyArray<A>): Reader<A> =>
  (text) =>
    values.find((value) => value === text)

const whole =
  (minimum: number, maximum: number): Reader<number> =>
  (text) => {
    const value = /^[0-9]{1,15}$/.test(text) ? Number(text) : Number.NaN
    return value >= minimum && value <= maximum ? value : undefined
  }

const truth: Reader<boolean> = (text) => (text === "true" ? true : text === "false" ? false : undefined)

const duration =
  (minimumText: Duration.Input, maximumText: Duration.Input): Reader<Duration.Duration> =>
  (text) => {
    const minimum = Duration.fromInputUnsafe(minimumText)
    const maximum = Duration.fromInputUnsafe(maximumText)
    // Every text is tried: the input type wants a template literal, and what is not one gives None.
    const value = text === "0" ? Duration.zero : Option.getOrUndefined(Duration.fromInput(text as Duration.Input))
    return value !== undefined && Duration.between(value, { minimum, maximum }) ? value : undefined
  }

const address = (protocols: ReadonlyArray<string>, text: string): boolean =>
  URL.canParse(text) && protocols.includes(new URL(text).protocol)

/** The address of a server with a login, whose parts clients decode: a `%` that stands for nothing would end the start. */
const server = (protocols: ReadonlyArray<string>, text: string): boolean => {
  if (!address(protocols, text)) return false
  const { hostname, password, pathname, searchParams, username } = new URL(text)
  if (hostname === "" && !searchParams.has("host")) return false
  try {
    for (const part of [username, password, pathname]) decodeURIComponent(part)
    return true
  } catch {
    return false
  }
}

const webAddress: Reader<string> = (text) => (address(["http:", "https:"], text) ? text.replace(/\/+$/, "") : undefined)

/** Cookies, sign-in and the links in emails are of a whole host: with a path, sign-in would be found nowhere. */
const hostAddress: Reader<string> = (text) =>
  address(["http:", "https:"], text) && /^[^/]+\/\/[^/?#@]+\/*$/.test(text) ? text.replace(/\/+$/, "") : undefined

const secretAddress: Reader<Redacted.Redacted> = (text) =>
  address(["http:", "https:"], text) ? Redacted.make(text) : undefined

const postgresAddress: Reader<Redacted.Redacted> = (text) =>
  server(["postgres:", "postgresql:"], text) ? Redacted.make(text) : undefined

/** Nodes of a cluster have no database but 0, so that naming one is a mistake. */
const redisAddresses: Reader<Redacted.Redacted> = (text) => {
  const nodes = text.split(",").map((node) => node.trim())
  const path = nodes.length === 1 ? /^(\/[0-9]{0,5})?$/ : /^\/?$/
  const valid = nodes.every((node) => server(["redis:", "rediss:"], node) && path.test(new URL(node).pathname))
  return valid ? Redacted.make(text) : undefined
}

const smtpAddress: Reader<Redacted.Redacted> = (text) =>
  server(["smtp:", "smtps:"], text) ? Redacted.make(text) : undefined

/** As a browser's `Origin` header writes it, because requests are compared with it as it is. */
const webOrigin: Reader<string> = (text) =>
  address(["http:", "https:"], text) && new URL(text).origin === text ? text : undefined

/** An address with or without a name: `Quarry <quarry@example.com>`. */
const sender: Reader<string> = (text) =>
  /^[^\s@<>]+@[^\s@<>]+$|^[^<>\r\n]*<[^\s@<>]+@[^\s@<>]+>$/.test(text) ? text : undefined

/** Two during rotation. */
const proxySecrets: Reader<ReadonlyArray<Redacted.Redacted>> = (text) => {
  const secrets = text.split(",").map((secret) => secret.trim())
  return secrets.length <= 2 && secrets.every((secret) => secret !== "")
    ? secrets.map((it) => Redacted.make(it))
    : undefined
}

type Engines = { readonly [T in Target]: string }

const defaultEngines: Engines = {
  alpha_search: "google",
  beta_search: "bing",
  gamma_search: "duckduckgo",
  delta_search: "brave",
  epsilon_search: "yandex",
  zeta_search: "mojeek"
}

/** Targets that are not named keep their default engine. */
const engines: Reader<Engines> = (text) => {
  const named = text.split(",").map((pair) => /^\s*([a-z_]+)\s*=\s*([^=]*\S)\s*$/.exec(pair))
  if (!named.every((pair) => targets.some((target) => target === pair?.[1]))) return undefined
  return { ...defaultEngines, ...Object.fromEntries(named.map((pair) => [pair?.[1], pair?.[2]])) }
}

/** Names and values of headers or attributes, percent-encoded, as OpenTelemetry writes them: `a=b,c=d`. */
const keyValues: Reader<Readonly<Record<string, string>>> = (text) => {
  const pairs = text.split(",").map((pair) => /^\s*([^=\s]+)\s*=\s*(.*?)\s*$/.exec(pair))
  try {
    return Object.fromEntries(pairs.map((pair) => [decoded(pair?.[1]), decoded(pair?.[2])]))
  } catch {
    return undefined
  }
}

const decoded = (text: string | undefined): string => {
  if (text === undefined) throw new URIError("it is no pair")
  return decodeURIComponent(text)
}

/** Names and values are those that a header may have: the exporter would fail with each export instead. */
const secretHeaders: Reader<Redacted.Redacted<Readonly<Record<string, string>>>> = (text) => {
  const headers = keyValues(text)
  const sound = Object.entries(headers ?? {}).every(
    ([name, value]) => /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) && /^[ -~]*$/.test(value)
  )
  return headers !== undefined && sound ? Redacted.make(headers) : undefined
}

const share: Reader<number> = (text) => {
  const value = /^[0-9]*\.?[0-9]+$/.test(text) ? Number(text) : Number.NaN
  return value >= 0 && value <= 1 ? value : undefined
}

const samplers = [
  "always_on",
  "always_off",
  "traceidratio",
  "parentbased_always_on",
  "parentbased_always_off",
  "parentbased_traceidratio"
] as const

const logLevels: ReadonlyArray<LogLevel.Severity> = ["Trace", "Debug", "Info", "Warn", "Error", "Fatal"]

const logLevel: Reader<LogLevel.Severity> = (text) =>
  logLevels.find((level) => level.toLowerCase() === text.toLowerCase())

/** Reads one variable; fails with the line that tells the operator what is wrong with it. */
const setting = <A, const F>(
  name: string,
  read: Reader<A>,
  options: { readonly takes: string; readonly fallback: F; readonly secret?: boolean }
): Effect.Effect<A | F, string> =>
  Effect.gen(function* () {
    // The names are flat and the sources in use are the environment and records, neither of which fails to load.
    const text = Option.getOrElse(yield* Effect.orDie(Config.option(Config.String(name))), () => "")
    // Compose files and CI pass variables that are not set as empty ones.
    if (text === "") return options.fallback
    const value = read(text)
    if (value !== undefined) return value
    const got = options.secret ? "a value that is not shown" : JSON.stringify(text)
    return yield* Effect.fail(`${name}: got ${got}; takes ${options.takes}.`)
  })

/** All of OpenTelemetry's signals, or one. */
type OtlpScope = "" | "TRACES_" | "METRICS_" | "LOGS_"

/** Where signals go. It may hold credentials, so that it is no less a secret than they are. */
const otlpEndpoint = (signal: OtlpScope) =>
  setting(`OTEL_EXPORTER_OTLP_${signal}ENDPOINT`, secretAddress, {
    takes: "the http(s) address of an OpenTelemetry collector, such as http://localhost:4318",
    fallback: undefined,
    secret: true
  })

const otlpHeaders = (signal: OtlpScope) =>
  setting(`OTEL_EXPORTER_OTLP_${signal}HEADERS`, secretHeaders, {
    takes: "name=value pairs separated by commas, percent-encoded",
    fallback: undefined,
    secret: true
  })

const otlpProtocol = (signal: OtlpScope) =>
  setting(`OTEL_EXPORTER_OTLP_${signal}PROTOCOL`, oneOf("http/protobuf"), {
    takes: "http/protobuf, the only protocol that is spoken",
    fallback: "http/protobuf"
  })

const exporter = (signal: "TRACES" | "METRICS" | "LOGS") =>
  setting(`OTEL_${signal}_EXPORTER`, oneOf("otlp", "none"), { takes: "otlp or none", fallback: "otlp" })

const millis = (name: string, fallback: number) =>
  setting(name, whole(1, 3_600_000), { takes: "a whole number of milliseconds from 1 to 3600000", fallback })

const count = (name: string, fallback: number) =>
  setting(name, whole(1, 1_000_000), { takes: "a whole number from 1 to 1000000", fallback })

const port = "a port number from 1 to 65535"

/**
 * Every variable of the environment, with its default. The bounds on time are those that credits survive: a hold's
 * lease must outlast the longest request and the drain together.
 */
const settings = {
  host: setting("HOST", hostName, { takes: "a host name or address", fallback: "127.0.0.1" }),
  port: setting("PORT", whole(1, 65_535), { takes: port, fallback: 3000 }),
  adminHost: setting("ADMIN_HOST", hostName, { takes: "a host name or address", fallback: "127.0.0.1" }),
  adminPort: setting("ADMIN_PORT", whole(0, 65_535), {
    takes: `${port}, or 0 for no private listener`,
    fallback: 9464
  }),
  baseUrl: setting("BASE_URL", hostAddress, {
    takes: "an http(s) address without a path, such as https://api.example",
    fallback: undefined
  }),
  databaseUrl: setting("DATABASE_URL", postgresAddress, {
    takes: "postgres://user:password@host:port/database",
    fallback: undefined,
    secret: true
  }),
  dataDir: setting("DATA_DIR", anyText, { takes: "a directory, or memory: to keep nothing", fallback: ".quarry" }),
  databasePoolSize: setting("DATABASE_POOL_SIZE", whole(1, 1000), {
    takes: "a whole number of connections from 1 to 1000",
    fallback: 10
  }),
  databaseStatementTimeout: setting("DATABASE_STATEMENT_TIMEOUT", duration("100 millis", "60 seconds"), {
    takes: "a duration from 100 milliseconds to 60 seconds, such as 10 seconds",
    fallback: Duration.seconds(10)
  }),
  databasePrepare: setting("DATABASE_PREPARE", truth, {
    takes: "true, or false behind a transaction pooler",
    fallback: true
  }),
  redisUrl: setting("REDIS_URL", redisAddresses, {
    takes: "redis://host:port/database, or redis://host:port several times, separated by commas, for Redis Cluster",
    fallback: undefined,
    secret: true
  }),
  authSecret: setting("AUTH_SECRET", signingSecret, { takes: takesSigningSecret, fallback: undefined, secret: true }),
  keyPepper: setting("KEY_PEPPER", signingSecret, { takes: takesSigningSecret, fallback: undefined, secret: true }),
  quarryProviders: setting("QUARRY_PROVIDERS", anyText, { takes: "the path of a JSON file", fallback: undefined }),
  searxngUrl: setting("SEARXNG_URL", webAddress, {
    takes: "the http(s) address of a SearXNG",
    fallback: undefined,
    secret: true
  }),
  searxngEngines: setting("SEARXNG_ENGINES", engines, {
    takes: `target=engine pairs separated by commas, the targets being ${targets.join(", ")}`,
    fallback: defaultEngines
  }),
  providerTimeout: setting("PROVIDER_TIMEOUT", duration("1 milli", "60 seconds"), {
    takes: "a duration from 1 millisecond to 60 seconds, such as 15 seconds",
    fallback: Duration.seconds(15)
  }),
  bulkBudget: setting("BULK_BUDGET", duration("1 milli", "60 seconds"), {
    takes: "a duration from 1 millisecond to 60 seconds",
    fallback: Duration.seconds(60)
  }),
  cacheTtl: setting("CACHE_TTL", duration(0, "7 days"), {
    takes: "a duration up to 7 days, such as 5 minutes; 0 turns the result cache off",
    fallback: Duration.minutes(5)
  }),
  cacheSize: setting("CACHE_SIZE", whole(0, 1_000_000), {
    takes: "a whole number of searches up to 1000000; 0 turns the result cache off",
    fallback: 10_000
  }),
  demoOrigin: setting("DEMO_ORIGIN", webOrigin, {
    takes: "the value of X-Demo-Origin, an origin without a path such as https://www.example.com",
    fallback: undefined
  }),
  marketplaceProxySecret: setting("MARKETPLACE_PROXY_SECRET", proxySecrets, {
    takes: "one secret, or two separated by a comma",
    fallback: undefined,
    secret: true
  }),
  marketplacePlan: setting("MARKETPLACE_PLAN", oneOf(...paidPlans), {
    takes: `${paidPlans.join(", ")} (the trial belongs to an email address, and subscribers have none)`,
    fallback: undefined
  }),
  googleClientId: setting("GOOGLE_CLIENT_ID", anyText, { takes: "the client's id", fallback: undefined }),
  googleClientSecret: setting("GOOGLE_CLIENT_SECRET", secretText, {
    takes: "the client's secret",
    fallback: undefined,
    secret: true
  }),
  githubClientId: setting("GITHUB_CLIENT_ID", anyText, { takes: "the client's id", fallback: undefined }),
  githubClientSecret: setting("GITHUB_CLIENT_SECRET", secretText, {
    takes: "the client's secret",
    fallback: undefined,
    secret: true
  }),
  smtpUrl: setting("SMTP_URL", smtpAddress, {
    takes: "smtp://user:password@host:port, or smtps://",
    fallback: undefined,
    secret: true
  }),
  emailFrom: setting("EMAIL_FROM", sender, {
    takes: "an address such as Quarry <quarry@example.com>",
    fallback: undefined
  }),
  trustedProxyHops: setting("TRUSTED_PROXY_HOPS", whole(0, 100), {
    takes: "a whole number of proxies from 0 to 100",
    fallback: 0
  }),
  queryLogRetention: setting("QUERY_LOG_RETENTION", duration("1 day", "3650 days"), {
    takes: "a duration from 1 day to 3650 days, such as 90 days",
    fallback: Duration.days(90)
  }),
  logLevel: setting("LOG_LEVEL", logLevel, { takes: logLevels.join(", ").toLowerCase(), fallback: "Info" }),
  logFormat: setting("LOG_FORMAT", oneOf("pretty", "json"), { takes: "pretty or json", fallback: undefined }),
  shutdownGrace: setting("SHUTDOWN_GRACE", duration(0, "10 minutes"), {
    takes: "a duration up to 10 minutes, such as 75 seconds",
    fallback: Duration.seconds(75)
  }),
  otelSdkDisabled: setting("OTEL_SDK_DISABLED", truth, { takes: "true or false", fallback: false }),
  otelExporterOtlpEndpoint: otlpEndpoint(""),
  otelExporterOtlpTracesEndpoint: otlpEndpoint("TRACES_"),
  otelExporterOtlpMetricsEndpoint: otlpEndpoint("METRICS_"),
  otelExporterOtlpLogsEndpoint: otlpEndpoint("LOGS_"),
  otelExporterOtlpHeaders: otlpHeaders(""),
  otelExporterOtlpTracesHeaders: otlpHeaders("TRACES_"),
  otelExporterOtlpMetricsHeaders: otlpHeaders("METRICS_"),
  otelExporterOtlpLogsHeaders: otlpHeaders("LOGS_"),
  otelExporterOtlpProtocol: otlpProtocol(""),
  otelExporterOtlpTracesProtocol: otlpProtocol("TRACES_"),
  otelExporterOtlpMetricsProtocol: otlpProtocol("METRICS_"),
  otelExporterOtlpLogsProtocol: otlpProtocol("LOGS_"),
  otelExporterOtlpCompression: setting("OTEL_EXPORTER_OTLP_COMPRESSION", oneOf("gzip", "none"), {
    takes: "gzip or none",
    fallback: "none"
  }),
  otelExporterOtlpTimeout: millis("OTEL_EXPORTER_OTLP_TIMEOUT", 10_000),
  otelTracesExporter: exporter("TRACES"),
  otelMetricsExporter: exporter("METRICS"),
  otelLogsExporter: exporter("LOGS"),
  otelServiceName: setting("OTEL_SERVICE_NAME", anyText, { takes: "a name", fallback: "quarry" }),
  otelResourceAttributes: setting("OTEL_RESOURCE_ATTRIBUTES", keyValues, {
    takes: "name=value pairs separated by commas, percent-encoded",
    fallback: undefined
  }),
  otelTracesSampler: setting("OTEL_TRACES_SAMPLER", oneOf(...samplers), {
    takes: samplers.join(", "),
    fallback: "parentbased_traceidratio"
  }),
  otelTracesSamplerArg: setting("OTEL_TRACES_SAMPLER_ARG", share, {
    takes: "the share of traces to keep, from 0 to 1",
    fallback: 0.1
  }),
  otelBspScheduleDelay: millis("OTEL_BSP_SCHEDULE_DELAY", 5_000),
  otelBspExportTimeout: millis("OTEL_BSP_EXPORT_TIMEOUT", 30_000),
  otelBspMaxQueueSize: count("OTEL_BSP_MAX_QUEUE_SIZE", 2_048),
  otelBspMaxExportBatchSize: count("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 512),
  otelMetricExportInterval: millis("OTEL_METRIC_EXPORT_INTERVAL", 60_000),
  traceQueryText: setting("TRACE_QUERY_TEXT", truth, { takes: "true or false", fallback: false }),
  billingProvider: setting("BILLING_PROVIDER", oneOf("polar"), { takes: "polar", fallback: undefined })
}

type Settings = { readonly [K in keyof typeof settings]: Effect.Success<(typeof settings)[K]> }

/** Variables that mean nothing without each other. */
const pairs = [
  ["googleClientId", "googleClientSecret"],
  ["githubClientId", "githubClientSecret"],
  ["smtpUrl", "emailFrom"]
] as const

/** What one variable on its own cannot tell. */
const contradictions = (values: Settings): ReadonlyArray<string> => {
  const halves = pairs.flatMap(([one, other]) => {
    if ((values[one] === undefined) === (values[other] === undefined)) return []
    const [set, unset] = values[one] === undefined ? [other, one] : [one, other]
    return [`${constantCase(unset)}: not set; ${constantCase(set)} requires it.`]
  })
  if (values.port === values.adminPort && values.host === values.adminHost) {
    halves.push(`ADMIN_PORT: got ${values.adminPort}, which is PORT too; takes another port.`)
  }
  if (values.databaseUrl === undefined) return halves
  const missing = { AUTH_SECRET: values.authSecret, KEY_PEPPER: values.keyPepper }
  return Object.entries(missing)
    .flatMap(([name, value]) =>
      value === undefined
        ? [`${name}: not set; DATABASE_URL requires it, the same for every replica. Make one: openssl rand -base64 32`]
        : []
    )
    .concat(halves)
}

const read = Effect.gen(function* () {
  const results = yield* Effect.all(settings, { mode: "result" })
  const values = Result.all(results)
  const problems = Result.isSuccess(values)
    ? contradictions(values.success)
    : Object.values<Result.Result<unknown, string>>(results).flatMap((result) =>
        Result.isFailure(result) ? [result.failure] : []
      )
  if (Result.isFailure(values) || problems.length > 0) {
    return yield* new SettingsInvalid({ message: problems.join("\n") })
  }
  return { ...values.success, baseUrl: values.success.baseUrl ?? `http://localhost:${values.success.port}` }
})

/** The settings in force, read from the environment once, at the start. Field names are the variables' names. */
export class AppConfig extends Context.Service<AppConfig, Effect.Success<typeof read>>()("quarry/settings/AppConfig") {
  static readonly layer: Layer.Layer<AppConfig, SettingsInvalid> = Layer.effect(AppConfig, read)

  /** The defaults, on a store that keeps nothing. */
  static readonly layerTest = (overrides: Partial<AppConfig["Service"]> = {}): Layer.Layer<AppConfig> =>
    Layer.effect(
      AppConfig,
      Effect.map(read, (defaults) => ({ ...defaults, dataDir: "memory:", ...overrides }))
    ).pipe(Layer.orDie, Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({}))))
}

const redacted = "<redacted>"

/** An address without what opens it: the password before the host, and anything in the query that may be one. */
const withoutPassword = (text: string): string => {
  const url = new URL(text)
  if (url.password !== "") url.password = "redacted"
  for (const name of url.searchParams.keys())
    if (/pass|secret|token|key/i.test(name)) url.searchParams.set(name, "redacted")
  return url.href.replaceAll(/(?<=:)redacted(?=@)|(?<==)redacted/g, redacted)
}

const unitsMs = { day: 86_400_000, hour: 3_600_000, minute: 60_000, second: 1000, milli: 1 }

/** In the form that a variable takes. */
const durationText = (value: Duration.Duration): string => {
  const ms = Duration.toMillis(value)
  const [unit, unitMs] = Object.entries(unitsMs).find(([, unitMs]) => ms % unitMs === 0) ?? ["milli", 1]
  return ms === 0 ? "0" : `${ms / unitMs} ${unit}${ms === unitMs ? "" : "s"}`
}

const addressNames: ReadonlySet<string> = new Set([
  "databaseUrl",
  "redisUrl",
  "searxngUrl",
  "smtpUrl",
  "otelExporterOtlpEndpoint",
  "otelExporterOtlpTracesEndpoint",
  "otelExporterOtlpMetricsEndpoint",
  "otelExporterOtlpLogsEndpoint"
])

type Shown = string | number | boolean | null

const show = (name: string, value: Settings[keyof Settings]): Shown => {
  if (value === undefined) return null
  if (typeof value === "number" || typeof value === "boolean") return value
  if (addressNames.has(name)) {
    const text = Redacted.isRedacted(value) ? String(Redacted.value<unknown>(value)) : String(value)
    return text
      .split(",")
      .map((part) => withoutPassword(part.trim()))
      .join(",")
  }
  if (typeof value === "string") return name === "logLevel" ? value.toLowerCase() : value
  if (Redacted.isRedacted(value)) return redacted
  if (Duration.isDuration(value)) return durationText(value)
  if (Array.isArray(value)) return value.map(() => redacted).join(",")
  return Object.entries<unknown>({ ...value })
    .map(([target, engine]) => `${target}=${engine}`)
    .join(",")
}

/** The settings by the names of their variables, secrets and passwords in addresses redacted; null is unset. */
export const describe = (config: AppConfig["Service"]): Readonly<Record<string, Shown>> =>
  Object.fromEntries(Object.entries(config).map(([name, value]) => [constantCase(name), show(name, value)]))
