import { brotliCompressSync, constants, gzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Layer, Schedule } from "effect"
import type { RefusalReason } from "../../../src/domain/providers/Refusal.ts"
import { Limits } from "../../../src/services/providers/Limits.ts"
import { ProviderStates } from "../../../src/services/providers/ProviderStates.ts"
import { Search } from "../../../src/services/search/Search.ts"
import * as StandardSettings from "../../../src/testing/StandardSettings.ts"
import * as ProviderTable from "../../support/api/ProviderTable.ts"
import { searchRequest } from "../../support/api/requests.ts"
import { aPrincipal, servicesOver, settings } from "../../support/api/Services.ts"
import { type Answer, json, serve, text } from "../../support/servers/UpstreamServer.ts"
import { key, type UpstreamFixture, upstreams } from "../../support/servers/upstreams.ts"
import * as MemoryStorage from "../../support/stores/MemoryStorage.ts"

/** For upstreams that never answer: the test waits for it. */
const briefBudgetMs = 600
/** For those that answer: a busy machine must not make a timeout of what they said. */
const budgetMs = 30_000

const jsonType = { "content-type": "application/json" }

/** 300 MB of zeros in 300 kB. */
const bomb = gzipSync(Buffer.alloc(300 * 1024 * 1024))
const brotliBomb = brotliCompressSync(Buffer.alloc(100 * 1024 * 1024), {
  params: { [constants.BROTLI_PARAM_QUALITY]: 1 }
})

interface Fault {
  readonly what: string
  readonly respond: (fixture: UpstreamFixture, elsewhere: string) => Answer
  readonly reason: (fixture: UpstreamFixture) => RefusalReason
  readonly message?: string
  readonly budgetMs?: number
}

const status = (code: number, reason: RefusalReason, headers?: Record<string, string>): Fault => ({
  what: `${code}${headers === undefined ? "" : ` with ${Object.keys(headers)[0]}`}`,
  respond: () => json({}, code, headers),
  reason: ({ statuses }) => statuses?.[code] ?? reason
})

const faults: ReadonlyArray<Fault> = [
  {
    what: "a body that is reset",
    respond: (fixture) => (_, response) => {
      response.writeHead(200, jsonType).write(JSON.stringify(fixture.answer([1, 2, 3])).slice(0, 30))
      setImmediate(() => response.socket?.resetAndDestroy())
    },
    reason: () => "unreachable"
  },
  {
    what: "headers that do not come",
    respond: () => () => undefined,
    reason: () => "timeout",
    budgetMs: briefBudgetMs
  },
  {
    what: "a body that drips",
    respond: () => (_, response) => {
      response.writeHead(200, jsonType)
      const drip = setInterval(() => response.write(" "), 20)
      response.on("close", () => clearInterval(drip))
    },
    reason: () => "timeout",
    budgetMs: briefBudgetMs
  },
  { what: "HTML", respond: () => text("<!doctype html><p>Welcome", 200), reason: () => "malformed" },
  {
    what: "200 with an error inside",
    respond: ({ errorInside }) => json(errorInside[0]),
    reason: ({ errorInside }) => errorInside[1]
  },
  {
    what: "JSON that is cut off",
    respond: (fixture) => (_, response) =>
      response.writeHead(200, jsonType).end(JSON.stringify(fixture.answer([1, 2, 3])).slice(0, -20)),
    reason: () => "malformed"
  },
  {
    what: "10 GB declared",
    respond: () => (_, response) => {
      response.writeHead(200, { ...jsonType, "content-length": "10000000000" }).write("{")
    },
    reason: () => "malformed",
    message: "larger than 2097152 bytes"
  },
  {
    what: "a gzip bomb",
    respond: () => (_, response) => response.writeHead(200, { ...jsonType, "content-encoding": "gzip" }).end(bomb),
    reason: () => "malformed",
    message: "larger than 2097152 bytes"
  },
  {
    what: "a brotli bomb",
    respond: () => (_, response) => response.writeHead(200, { ...jsonType, "content-encoding": "br" }).end(brotliBomb),
    reason: () => "malformed",
    message: "larger than 2097152 bytes"
  },
  {
    what: "gzip within gzip",
    respond: (fixture) => (_, response) =>
      response
        .writeHead(200, { ...jsonType, "content-encoding": "gzip, gzip" })
        .end(gzipSync(gzipSync(JSON.stringify(fixture.answer([1]))))),
    reason: () => "malformed"
  },
  {
    what: "64 KiB of headers",
    respond: (fixture) => json(fixture.answer([1]), 200, { "x-long": "x".repeat(65_536) }),
    reason: () => "unreachable"
  },
  {
    what: "2,000 headers",
    respond: (fixture) => (_, response) =>
      response
        .writeHead(
          200,
          [...Array(2_000)].flatMap((_, index) => [`x-${index}`, "sixteen letters."])
        )
        .end(JSON.stringify(fixture.answer([1]))),
    reason: () => "unreachable"
  },
  {
    what: "gzip that is none",
    respond: (fixture) => json(fixture.answer([1]), 200, { "content-encoding": "gzip" }),
    reason: () => "malformed"
  },
  {
    what: "a redirect elsewhere",
    respond: (_, elsewhere) => text("", 301, { location: `${elsewhere}/search` }),
    reason: () => "malformed"
  },
  status(401, "unauthorized"),
  status(402, "quota"),
  status(403, "unauthorized"),
  status(404, "malformed"),
  status(429, "rate_limited"),
  status(429, "rate_limited", { "retry-after": "7" }),
  status(500, "unreachable"),
  status(502, "unreachable"),
  status(503, "unreachable"),
  status(504, "timeout")
]

/** One search by a caller with an account: the provider at `url` first, the index after it. */
const search = (fixture: UpstreamFixture, url: string, options: { alone?: boolean; budgetMs?: number } = {}) => {
  const file = {
    providers: { it: { type: fixture.type, url, ...fixture.entry }, own: { type: "index" } },
    targets: {
      alpha_search: [
        { provider: "it", ...(fixture.engine === undefined ? {} : { engine: fixture.engine }) },
        ...(options.alone ? [] : [{ provider: "own" }])
      ]
    }
  }
  const limits = { ...StandardSettings.limits, providerTimeout: Duration.millis(options.budgetMs ?? budgetMs) }
  const limited = Layer.merge(settings, Layer.succeed(Limits, limits))
  const providers = ProviderTable.providers(file, limited).pipe(Layer.provide(ProviderStates.layer))
  return Effect.gen(function* () {
    const startedAt = performance.now()
    const { body, receipt } = yield* (yield* Search).run(yield* aPrincipal, searchRequest())
    const elapsedMs = performance.now() - startedAt
    const [state] = yield* (yield* ProviderStates).all
    return { answer: body, receipt, elapsedMs, refusal: state?.lastRefusal ?? assert.fail("it did not refuse") }
  }).pipe(
    Effect.provide(
      servicesOver(MemoryStorage.layer, providers, { settings: limited }).pipe(Layer.provideMerge(ProviderStates.layer))
    ),
    Effect.orDie
  )
}

/** Waits for the upstream to have seen every connection end. */
const untilClosed = (open: () => number) =>
  Effect.suspend(() => (open() === 0 ? Effect.void : Effect.fail("open"))).pipe(
    Effect.retry({ schedule: Schedule.spaced("10 millis"), times: 2_000 })
  )

for (const fixture of upstreams) {
  describe(`${fixture.type}: faults`, () => {
    for (const { message = "", reason, respond, what, ...options } of faults) {
      it.live(`${what} is ${reason(fixture)}; the next provider answers, for one credit`, () =>
        Effect.gen(function* () {
          const elsewhere = yield* serve(json(fixture.answer([1])))
          const upstream = yield* serve(respond(fixture, elsewhere.url))
          const { answer, elapsedMs, receipt, refusal } = yield* search(fixture, upstream.url, options)
          assert.strictEqual(refusal.reason, reason(fixture))
          assert.include(refusal.message, message)
          assert.notInclude(refusal.message, key)
          assert.isTrue(answer._tag === "Success" && answer.success.ranking.results[0]?.title === "from the index")
          assert.strictEqual(receipt.creditsUsed, 1)
          assert.deepStrictEqual(elsewhere.received, [])
          assert.isBelow(elapsedMs, options.budgetMs ?? budgetMs)
          yield* untilClosed(upstream.open)
        })
      )
    }

    it.live("a refused connection is unreachable; the next provider answers, for one credit", () =>
      Effect.gen(function* () {
        const { close, url } = yield* serve(json({}))
        yield* close
        const { answer, receipt, refusal } = yield* search(fixture, url)
        assert.deepStrictEqual(
          [refusal.reason, refusal.message],
          ["unreachable", "the connection failed (ECONNREFUSED)"]
        )
        assert.strictEqual(answer._tag, "Success")
        assert.strictEqual(receipt.creditsUsed, 1)
      })
    )

    it.live("without another provider a hang is upstream_timeout in time, and a refusal upstream_error", () =>
      Effect.gen(function* () {
        const hanging = yield* serve(() => undefined)
        const slow = yield* search(fixture, hanging.url, { alone: true, budgetMs: briefBudgetMs })
        assert.isTrue(slow.answer._tag === "Failure" && slow.answer.failure._tag === "upstream_timeout")
        assert.isAtLeast(slow.elapsedMs, briefBudgetMs - 1)
        const failing = yield* serve(json({}, 500))
        const failed = yield* search(fixture, failing.url, { alone: true })
        assert.isTrue(failed.answer._tag === "Failure" && failed.answer.failure._tag === "upstream_error")
        assert.deepStrictEqual([slow.receipt.creditsUsed, failed.receipt.creditsUsed], [1, 1])
      })
    )
  })
}
