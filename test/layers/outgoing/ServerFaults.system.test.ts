import type { Worker } from "node:worker_threads"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Data, Duration, Effect, Exit, Layer, Logger, Redacted, Schedule, Scope } from "effect"
import { secretPrefix } from "../../../src/domain/webhooks/Event.ts"
import * as EmailsSmtp from "../../../src/layers/auth/emails/EmailsSmtp.ts"
import * as Polar from "../../../src/layers/billing/Polar.ts"
import * as PageFetcherNode from "../../../src/layers/pages/PageFetcherNode.ts"
import * as Upstream from "../../../src/layers/providers/Upstream.ts"
import { UpstreamClient } from "../../../src/layers/providers/UpstreamClient.ts"
import * as UpstreamRequest from "../../../src/layers/providers/UpstreamRequest.ts"
import * as OpenTelemetry from "../../../src/layers/telemetry/OpenTelemetry.ts"
import * as WebhookClientNode from "../../../src/layers/webhooks/WebhookClientNode.ts"
import { Emails } from "../../../src/services/accounts/Emails.ts"
import { PaymentProvider } from "../../../src/services/billing/PaymentProvider.ts"
import { PageFetcher } from "../../../src/services/pages/PageFetcher.ts"
import { unsharedTurn } from "../../../src/services/providers/Turn.ts"
import { StoreClock } from "../../../src/services/StoreClock.ts"
import { WebhookClient } from "../../../src/services/webhooks/WebhookClient.ts"
import { AppConfig } from "../../../src/settings/Settings.ts"
import * as StandardSettings from "../../../src/testing/StandardSettings.ts"
import { freePort } from "../../support/processes/Spawned.ts"
import { type Certificate, trusted, untrusted } from "../../support/servers/Certificates.ts"
import { deafPort, faultThread, serveFault, ticketFlood, untilClosed } from "../../support/servers/FaultServer.ts"
import { type Fault, faults, mailFaults, starttlsFaults, tlsFaults } from "../../support/servers/ServerFaults.ts"

/** For servers that keep a client waiting. */
const shortMs = 300
/** For the others, which a client leaves long before. */
const longMs = 30_000
/** The delay of a busy machine. */
const slackMs = 10_000

/** Of CPU, for one exchange. */
const maxCpuMs = 1_500
/** Of memory of the process, with the server's thread. */
const maxGrowthBytes = 256 * 1024 * 1024
/** The largest limit of a client, and what buffers of the system and of TLS hold. */
const maxSentBytes = 32 * 1024 * 1024

const isEndless = ({ endless }: Fault): boolean => endless === "drip" || endless === "silence"

interface Client {
  readonly name: string
  readonly isSecure: boolean
  /** True where the faults come over TLS, and not in its place. */
  readonly meetsTls?: boolean
  readonly begins: "connection" | "request"
  readonly faults: ReadonlyArray<Fault>
  /** The tags of its errors. */
  readonly errors: ReadonlyArray<string>
  readonly timeLimitMs: (fault: Fault) => number
  readonly run: (address: string, timeLimitMs: number) => Effect.Effect<unknown, { readonly _tag: string }, Scope.Scope>
}

class Late extends Data.TaggedError("Late") {}
class Lost extends Data.TaggedError("Lost") {}

const post = (url: string, timeLimitMs: number) =>
  Effect.gen(function* () {
    const client = yield* WebhookClient
    const secrets = [Redacted.make(`${secretPrefix}${Buffer.alloc(32).toString("base64")}`)]
    return yield* client.post({ url, id: "evt_1", timestamp: 1, body: "{}", secrets })
  }).pipe(Effect.provide(WebhookClientNode.layer({ allowsPrivate: true, timeout: Duration.millis(timeLimitMs) })))

const ask = (url: string, timeLimitMs: number) =>
  Effect.gen(function* () {
    const ask = yield* Upstream.make({ gate: { run: (call) => call, expectedWaitMs: () => 0 } })
    // Its callers have the deadlines.
    return yield* Effect.timeoutOrElse(ask(UpstreamRequest.get(url, {}), unsharedTurn(timeLimitMs)), {
      duration: timeLimitMs,
      orElse: () => Effect.fail(new Late())
    })
  }).pipe(Effect.provide(UpstreamClient.layer))

const order = (baseUrl: string, timeLimitMs: number) =>
  Effect.flatMap(PaymentProvider, (provider) => provider.order("0f6f1f0c-0000-4000-8000-0000000000ff")).pipe(
    Effect.provide(
      Polar.layer({
        accessToken: Redacted.make("polar_oat_test"),
        webhookSecrets: [Redacted.make("whsec_test")],
        baseUrl,
        products: { starter: "a", growth: "b", business: "c", pack: "d" },
        returnUrl: "https://quarry.test/",
        webhookUrl: "https://quarry.test/",
        callTimeout: Duration.millis(timeLimitMs)
      }).pipe(Layer.provide([StandardSettings.plans, StoreClock.own]))
    )
  )

/** One span, until it is sent or lost. A collector that takes nothing is known by a line of the log alone. */
const exportSpan = Effect.fnUntraced(function* (url: string, timeLimitMs: number) {
  const lines: Array<unknown> = []
  const config = yield* Effect.provide(
    AppConfig,
    AppConfig.layerTest({
      otelExporterOtlpEndpoint: Redacted.make(url),
      otelTracesSampler: "always_on",
      otelMetricsExporter: "none",
      otelLogsExporter: "none",
      otelBspScheduleDelay: 1,
      otelBspExportTimeout: timeLimitMs,
      otelExporterOtlpTimeout: timeLimitMs
    })
  )
  const telemetry = OpenTelemetry.layer(config).pipe(
    Layer.provide(Logger.layer([Logger.make(({ message }) => void lines.push(message))]))
  )
  yield* Effect.void.pipe(Effect.withSpan("request", { kind: "server" }), Effect.provide(telemetry))
  if (lines.length > 0) return yield* new Lost()
})

const send = (url: string, timeLimitMs: number) =>
  Effect.flatMap(Emails, (emails) => emails.deliver({ to: "a@example.com", subject: "a", text: "b" })).pipe(
    Effect.provide(
      EmailsSmtp.layer({ url: Redacted.make(url), from: "q@example.com", timeout: Duration.millis(timeLimitMs) })
    )
  )

const patient = (fault: Fault): number => (isEndless(fault) ? shortMs : longMs)

const webhooks = { errors: ["WebhookUnreachable"], timeLimitMs: patient, run: post }
const providers = { errors: ["Refusal", "Late"], timeLimitMs: patient, run: ask }
const billing = { errors: ["ProviderUnavailable", "ProviderMissing"], timeLimitMs: patient, run: order }
// It tries again for as long as it may what may be the collector's start.
const telemetry = {
  errors: ["Lost"],
  timeLimitMs: (fault: Fault) => (fault.endless === "flood" ? longMs : shortMs),
  run: exportSpan
}
const mail = { begins: "connection", errors: ["EmailNotSent"], timeLimitMs: patient, run: send } as const

const read = (url: string, timeLimitMs: number) =>
  Effect.flatMap(PageFetcher, (fetcher) => fetcher.fetch(new URL(url), "acc_1", Duration.millis(timeLimitMs))).pipe(
    Effect.provide(PageFetcherNode.layer({ userAgent: "Quarry/test", obeysRobots: false, allowsPrivate: true }))
  )

const pages = { errors: ["page_unreadable"], timeLimitMs: patient, run: read } as const

const plain = { begins: "request", isSecure: false, faults } as const
const overTls = { begins: "request", isSecure: true, meetsTls: true, faults } as const
const inPlaceOfTls = { begins: "request", isSecure: true, faults: tlsFaults } as const

const clients: ReadonlyArray<Client> = [
  { name: "webhooks", ...plain, ...webhooks },
  { name: "webhooks over TLS", ...overTls, ...webhooks },
  { name: "webhooks in place of TLS", ...inPlaceOfTls, ...webhooks },
  { name: "pages", ...plain, ...pages },
  { name: "pages over TLS", ...overTls, ...pages },
  { name: "pages in place of TLS", ...inPlaceOfTls, ...pages },
  { name: "providers", ...plain, ...providers },
  { name: "providers over TLS", ...overTls, ...providers },
  { name: "providers in place of TLS", ...inPlaceOfTls, ...providers },
  { name: "billing", ...plain, ...billing },
  { name: "billing in place of TLS", ...inPlaceOfTls, ...billing },
  { name: "telemetry", ...plain, ...telemetry },
  { name: "telemetry in place of TLS", ...inPlaceOfTls, ...telemetry },
  { name: "mail", isSecure: false, ...mail, faults: [...faults, ...mailFaults, ...starttlsFaults] },
  { name: "mail over TLS", isSecure: true, meetsTls: true, ...mail, faults: mailFaults },
  { name: "mail in place of TLS", isSecure: true, ...mail, faults: tlsFaults }
]

/** Errors that nothing caught. */
const uncaught: Array<unknown> = []
const onUncaught = (error: unknown): void => void uncaught.push(error)

type Counts = Readonly<Record<string, number>>

/** What keeps the process alive, by its kind. Read outside timers, because a running timer counts itself. */
const resources = Effect.callback<Counts>((resume) => {
  setImmediate(() => {
    const counts: Record<string, number> = {}
    for (const kind of process.getActiveResourcesInfo()) {
      if (/TCP|TLS|Timeout|GetAddrInfo|Zlib/.test(kind)) counts[kind] = (counts[kind] ?? 0) + 1
    }
    resume(Effect.succeed(counts))
  })
})

const isNoMoreThan = (now: Counts, before: Counts) =>
  Object.entries(now).every(([kind, count]) => count <= (before[kind] ?? 0))

/** Waits until nothing is left of an exchange. */
const untilReleased = (before: Counts) =>
  resources.pipe(
    Effect.filterOrFail(
      (now) => isNoMoreThan(now, before),
      (now) => new Error(`left open: ${JSON.stringify(now)}, and before ${JSON.stringify(before)}`)
    ),
    Effect.retry({ schedule: Schedule.spaced("20 millis"), times: 250 }),
    Effect.orDie
  )

describe("outgoing connections", () => {
  const scope = Scope.makeUnsafe()
  let thread: Worker
  let certificate: Certificate

  beforeAll(async () => {
    process.on("uncaughtExceptionMonitor", onUncaught)
    process.on("unhandledRejection", onUncaught)
    const started = Effect.all([faultThread, trusted("IP:127.0.0.1")])
    const [first, second] = await Effect.runPromise(Effect.provideService(started, Scope.Scope, scope))
    thread = first
    certificate = second
  })
  afterAll(async () => {
    process.off("uncaughtExceptionMonitor", onUncaught)
    process.off("unhandledRejection", onUncaught)
    await Effect.runPromise(Scope.close(scope, Exit.void))
  })

  /** Runs one exchange, and checks what it costs and leaves. */
  const check = Effect.fnUntraced(function* (
    { errors, isSecure, name, run }: Client,
    port: number,
    expected: { readonly limitMs: number; readonly withinMs: number; readonly mayAnswer: boolean }
  ) {
    const scheme = `${name.startsWith("mail") ? "smtp" : "http"}${isSecure ? "s" : ""}`
    const resourcesBefore = yield* resources
    const before = { kilobytes: process.resourceUsage().maxRSS, cpu: process.threadCpuUsage() }
    const startedAt = performance.now()
    const exit = yield* Effect.exit(Effect.scoped(run(`${scheme}://127.0.0.1:${port}`, expected.limitMs)))
    const elapsedMs = performance.now() - startedAt
    const { system, user } = process.threadCpuUsage(before.cpu)
    if (Exit.isSuccess(exit)) assert.isTrue(expected.mayAnswer, "it took for an answer what is none")
    else {
      const [reason] = exit.cause.reasons
      assert.include(errors, reason?._tag === "Fail" ? reason.error._tag : String(exit.cause))
    }
    assert.isBelow(elapsedMs, expected.withinMs)
    assert.isBelow((user + system) / 1000, maxCpuMs)
    assert.isBelow((process.resourceUsage().maxRSS - before.kilobytes) * 1024, maxGrowthBytes)
    yield* untilReleased(resourcesBefore)
    assert.deepStrictEqual(uncaught, [])
  })

  const checkFault = Effect.fnUntraced(function* (client: Client, fault: Fault) {
    const { begins, meetsTls = false, timeLimitMs } = client
    const server = yield* serveFault(thread, fault, { begins, certificate: meetsTls ? certificate : undefined })
    const limitMs = timeLimitMs(fault)
    const withinMs = (isEndless(fault) ? limitMs : 0) + slackMs
    yield* check(client, server.port, { limitMs, withinMs, mayAnswer: fault.hasHead })
    const { sentBytes } = yield* untilClosed(server)
    assert.isBelow(sentBytes, maxSentBytes)
  })

  for (const client of clients) {
    describe(client.name, () => {
      for (const fault of client.faults) {
        it.live(`a server that ${fault.name} costs little and leaves nothing open`, () => checkFault(client, fault))
      }
    })
  }

  describe.each(clients.filter(({ meetsTls }) => meetsTls !== true))("$name", (client) => {
    it.live("a port on which nobody listens is an error", () =>
      Effect.gen(function* () {
        const limitMs = client.errors.includes("Lost") ? shortMs : longMs
        yield* check(client, yield* freePort, { limitMs, withinMs: slackMs, mayAnswer: false })
      })
    )

    it.live("a port that takes no connection is an error at the time limit", () =>
      Effect.gen(function* () {
        yield* check(client, yield* deafPort, { limitMs: shortMs, withinMs: shortMs + slackMs, mayAnswer: false })
      })
    )
  })

  describe.each(clients.filter(({ isSecure, meetsTls }) => isSecure && meetsTls !== true))("$name", (client) => {
    it.live("a server that floods session tickets costs little", () =>
      Effect.gen(function* () {
        const port = yield* ticketFlood(certificate)
        yield* check(client, port, { limitMs: longMs, withinMs: slackMs, mayAnswer: false })
      })
    )

    it.live.each(["DNS:other.test", "untrusted"])("a certificate of %s is an error", (subject) =>
      Effect.gen(function* () {
        const other = subject === "untrusted" ? yield* untrusted : yield* trusted(subject)
        const options = { begins: client.begins, certificate: other }
        const server = yield* serveFault(thread, { name: "speaks HTTP/1.0" }, options)
        yield* check(client, server.port, { limitMs: longMs, withinMs: slackMs, mayAnswer: false })
      })
    )
  })
})
