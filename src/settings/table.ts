import { Duration, type LogLevel, Option } from "effect"
import { constantCase } from "effect/String"
import { signUpModes } from "../domain/accounts/signUp.ts"
import { paidPlans } from "../domain/credits/Plan.ts"
import * as forms from "./forms.ts"

export interface Setting<A, F = A> {
  readonly form: forms.Form<A>
  readonly fallback: F
}

const setting = <A, const F extends A>(form: forms.Form<A>, fallback: F): Setting<A> => ({ form, fallback })

const optional = <A>(form: forms.Form<A>): Setting<A, undefined> => ({ form, fallback: undefined })

const port = "a port number from 1 to 65535"

const samplers = [
  "always_on",
  "always_off",
  "traceidratio",
  "parentbased_always_on",
  "parentbased_always_off",
  "parentbased_traceidratio"
] as const

const logLevels: ReadonlyArray<LogLevel.Severity> = ["Trace", "Debug", "Info", "Warn", "Error", "Fatal"]

const logLevel: forms.Form<LogLevel.Severity> = {
  decode: (text) => Option.fromUndefinedOr(logLevels.find((level) => level.toLowerCase() === text.toLowerCase())),
  takes: logLevels.join(", ").toLowerCase(),
  hides: "nothing"
}

/** The URL may contain credentials, so it is as secret as the headers. */
const collector = optional(
  forms.webAddress("the http(s) address of an OpenTelemetry collector, such as http://localhost:4318")
)
const exportHeaders = optional(forms.secretHeaders)
const exportProtocol = setting(
  forms.oneOf(["http/protobuf"], "http/protobuf, the only supported protocol"),
  "http/protobuf"
)
const exporter = setting(forms.oneOf(["otlp", "none"], "otlp or none"), "otlp")

const product = optional(forms.productId)

const millis = (fallback: number) =>
  setting(forms.whole(1, 3_600_000, "a whole number of milliseconds from 1 to 3600000"), fallback)

const count = (fallback: number) => setting(forms.whole(1, 1_000_000, "a whole number from 1 to 1000000"), fallback)

/** The limits on time keep credits correct: a hold's lease must outlast the longest request and the drain together. */
export const table = {
  host: setting(forms.hostName, "127.0.0.1"),
  port: setting(forms.whole(0, 65_535, `${port}, or 0 for a free one`), 3000),
  adminHost: setting(forms.hostName, "127.0.0.1"),
  adminPort: setting(forms.whole(0, 65_535, `${port}, or 0 for no private listener`), 9464),
  adminHosts: setting(forms.hostNames, []),
  workers: setting(forms.wholeOrAuto(1, 256, "a whole number of processes from 1 to 256, or auto for one per core"), 1),
  baseUrl: optional(forms.hostAddress),
  databaseUrl: optional(
    forms.serverAddress(["postgres:", "postgresql:"], "postgres://user:password@host:port/database")
  ),
  dataDir: setting(forms.text("a directory, or memory: to keep nothing"), ".quarry"),
  embeddedSync: setting(forms.oneOf(["on", "off"], "on, or off for tests and benchmarks"), "on"),
  databasePoolSize: setting(forms.whole(1, 1000, "a whole number of connections from 1 to 1000"), 10),
  databaseStatementTimeout: setting(
    forms.duration("100 millis", "60 seconds", "a duration from 100 milliseconds to 60 seconds, such as 10 seconds"),
    Duration.seconds(10)
  ),
  databasePrepare: setting(forms.boolean("true, or false behind a transaction pooler"), true),
  redisUrl: optional(forms.redisAddresses),
  authSecret: optional(forms.signingSecrets),
  keyPepper: optional(forms.signingSecrets),
  quarryProviders: optional(forms.text("the path of a JSON file")),
  quarryPlans: optional(forms.text("the path of a JSON file")),
  searxngUrl: optional(forms.webAddress("the http(s) address of a SearXNG")),
  searxngEngines: setting(forms.engines, forms.defaultEngines),
  providerTimeout: setting(
    forms.duration("1 milli", "60 seconds", "a duration from 1 millisecond to 60 seconds, such as 15 seconds"),
    Duration.seconds(15)
  ),
  bulkBudget: setting(
    forms.duration("1 milli", "60 seconds", "a duration from 1 millisecond to 60 seconds"),
    Duration.seconds(60)
  ),
  cacheTtl: setting(
    forms.duration(0, "7 days", "a duration up to 7 days, such as 5 minutes; 0 turns the result cache off"),
    Duration.minutes(5)
  ),
  cacheSize: setting(
    forms.whole(0, 1_000_000, "a whole number of searches up to 1000000; 0 turns the result cache off"),
    10_000
  ),
  pages: setting(forms.oneOf(["on", "off"], "on or off"), "on"),
  pagesTimeout: setting(
    forms.duration("1 second", "30 seconds", "a duration from 1 second to 30 seconds, such as 15 seconds"),
    Duration.seconds(15)
  ),
  pagesCacheTtl: setting(
    forms.duration(0, "24 hours", "a duration up to 24 hours, such as 1 hour; 0 keeps no copies"),
    Duration.hours(1)
  ),
  pagesRobots: setting(forms.oneOf(["respect", "ignore"], "respect or ignore"), "respect"),
  pagesUserAgent: optional(forms.userAgent),
  pagesAllowPrivate: setting(forms.boolean("true, or false if you do not trust the callers"), false),
  pagesWorkers: optional(forms.whole(1, 64, "a whole number of threads from 1 to 64")),
  demoOrigin: optional(forms.webOrigin),
  corsOrigins: optional(forms.webOrigins),
  compat: setting(forms.compatShapes, []),
  compatEngines: setting(forms.compatEngines, {}),
  compatKeylessAccount: optional(forms.accountId),
  compatKeylessNetworks: optional(forms.privateNetworks),
  marketplaceProxySecret: optional(forms.sharedSecrets),
  marketplacePlan: optional(
    forms.oneOf(paidPlans, `${paidPlans.join(", ")} (the trial belongs to an email address, and subscribers have none)`)
  ),
  signUp: setting(forms.oneOf(signUpModes, "open, invite or closed"), "open"),
  signUpDomains: setting(forms.emailDomains, []),
  requireSecondFactor: setting(forms.boolean("true if everybody must set up a second factor, or false"), false),
  oauthRegistrationsPerMinute: count(60),
  googleClientId: optional(forms.text("the client's id")),
  googleClientSecret: optional(forms.secretText("the client's secret")),
  githubClientId: optional(forms.text("the client's id")),
  githubClientSecret: optional(forms.secretText("the client's secret")),
  oidcIssuer: optional(forms.issuer),
  oidcClientId: optional(forms.text("the client's id")),
  oidcClientSecret: optional(forms.secretText("the client's secret")),
  oidcName: setting(forms.buttonLabel, "single sign-on"),
  oidcDomains: setting(forms.emailDomains, []),
  oidcOnly: setting(forms.boolean("true, or false to keep passwords"), false),
  smtpUrl: optional(forms.serverAddress(["smtp:", "smtps:"], "smtp://user:password@host:port, or smtps://")),
  emailFrom: optional(forms.sender),
  webhooksAllowPrivate: setting(forms.boolean("true, or false if you do not trust the customers"), false),
  compression: setting(forms.oneOf(["on", "off"], "on or off"), "off"),
  serverTiming: setting(forms.oneOf(["on", "off"], "on or off"), "on"),
  trustedProxyHops: setting(forms.whole(0, 100, "a whole number of proxies from 0 to 100"), 0),
  queryLogRetention: optional(
    forms.duration("1 day", "3650 days", "a duration from 1 day to 3650 days, such as 90 days")
  ),
  quarryBackground: setting(
    forms.oneOf(["on", "off"], "on, or off for a server that only answers requests, such as a restored copy"),
    "on"
  ),
  quarryOperator: optional(forms.operatorName),
  operatorConsole: setting(forms.oneOf(["on", "off"], "on or off"), "off"),
  operatorNetworks: optional(forms.networks),
  logLevel: setting(logLevel, "Info"),
  logFormat: optional(forms.oneOf(["pretty", "json"], "pretty or json")),
  shutdownGrace: setting(
    forms.duration(0, "10 minutes", "a duration up to 10 minutes, such as 75 seconds"),
    Duration.seconds(75)
  ),
  drainDelay: optional(forms.duration(0, "5 minutes", "a duration up to 5 minutes, such as 5 seconds")),
  quarryCommit: optional(forms.text("the commit that runs, such as 1a2b3c4")),
  otelSdkDisabled: setting(forms.boolean(), false),
  otelExporterOtlpEndpoint: collector,
  otelExporterOtlpTracesEndpoint: collector,
  otelExporterOtlpMetricsEndpoint: collector,
  otelExporterOtlpLogsEndpoint: collector,
  otelExporterOtlpHeaders: exportHeaders,
  otelExporterOtlpTracesHeaders: exportHeaders,
  otelExporterOtlpMetricsHeaders: exportHeaders,
  otelExporterOtlpLogsHeaders: exportHeaders,
  otelExporterOtlpProtocol: exportProtocol,
  otelExporterOtlpTracesProtocol: exportProtocol,
  otelExporterOtlpMetricsProtocol: exportProtocol,
  otelExporterOtlpLogsProtocol: exportProtocol,
  otelExporterOtlpCompression: setting(forms.oneOf(["gzip", "none"], "gzip or none"), "none"),
  otelExporterOtlpTimeout: millis(10_000),
  otelTracesExporter: exporter,
  otelMetricsExporter: exporter,
  otelLogsExporter: exporter,
  otelServiceName: setting(forms.text("a name"), "quarry"),
  otelResourceAttributes: optional(forms.keyValues),
  otelTracesSampler: setting(forms.oneOf(samplers, samplers.join(", ")), "parentbased_traceidratio"),
  otelTracesSamplerArg: setting(forms.share("the share of traces to keep, from 0 to 1"), 0.1),
  otelBspScheduleDelay: millis(5_000),
  otelBspExportTimeout: millis(30_000),
  otelBspMaxQueueSize: count(2_048),
  otelBspMaxExportBatchSize: count(512),
  otelMetricExportInterval: millis(60_000),
  traceQueryText: setting(forms.boolean(), false),
  billingProvider: optional(forms.oneOf(["polar"], "polar")),
  polarAccessToken: optional(forms.secretText("an organization access token of Polar, such as polar_oat_…")),
  polarWebhookSecret: optional(forms.sharedSecrets),
  polarServer: setting(forms.oneOf(["production", "sandbox"], "production or sandbox"), "production"),
  polarBaseUrl: optional(forms.hostAddress),
  polarProductStarter: product,
  polarProductGrowth: product,
  polarProductBusiness: product,
  polarProductPack: product,
  billingGrace: setting(forms.duration(0, "30 days", "a duration up to 30 days, such as 3 days"), Duration.days(3)),
  billingCheckout: setting(forms.oneOf(["open", "closed"], "open, or closed if plans are sold elsewhere"), "open")
}

type Table = typeof table

export type Name = keyof Table

export type Values = { readonly [N in Name]: Table[N] extends Setting<infer A, infer F> ? A | F : never }

/** `databaseUrl` becomes `DATABASE_URL`. */
export const variableOf = (name: Name): string => constantCase(name)
