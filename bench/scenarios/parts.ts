import { hash, randomUUID } from "node:crypto"
import { Context, Effect, Layer, Redacted, Result } from "effect"
import { Redis } from "ioredis"
import { decoder } from "../../src/domain/requests/fields.ts"
import { parseBulk } from "../../src/domain/search/BulkRequest.ts"
import { SearchParameters, toSearch } from "../../src/domain/search/SearchRequest.ts"
import * as RateLimiterRedis from "../../src/layers/redis/RateLimiterRedis.ts"
import { RedisConnection } from "../../src/layers/redis/RedisConnection.ts"
import { RateLimiter, windowMs } from "../../src/services/credits/RateLimiter.ts"
import { logEntry } from "../../test/support/api/requests.ts"
import type { Scenario } from "../Scenario.ts"
import { type Measurement, median, ratios, runsOf } from "../support/Measurement.ts"
import { measureInProcess } from "../support/Runs.ts"
import type { Stage } from "../support/Stage.ts"

/** Alternates between the parts, after a warm-up run of each. */
const alternateInProcess = Effect.fnUntraced(function* <E>(
  stage: Stage,
  inFlight: number,
  parts: ReadonlyArray<readonly [string, (n: number) => Effect.Effect<unknown, E>]>
) {
  const { pairs, seconds, warmUpSeconds } = stage.scale
  const measurements: Array<Measurement> = []
  for (let pair = 0; pair <= pairs; pair++) {
    for (const [subject, one] of parts) {
      const how = { subject, pair, inFlight, seconds: pair === 0 ? warmUpSeconds : seconds }
      const measurement = yield* measureInProcess(stage, how, one)
      if (pair > 0) measurements.push(measurement)
    }
  }
  return measurements
})

/** Required pairs per second of a ledger with thousands of accounts. */
const wantedPairs = 10_000

export const ledger: Scenario = {
  name: "ledger",
  measures: "reserve and settle alone, 512 in flight, without HTTP, limiter, cache and upstream; service is the caller",
  run: (stage) =>
    Effect.gen(function* () {
      const { store } = stage
      const accounts = yield* Effect.forEach(stage.accountIds, (id) => store.accounts.byId(id))
      const pay = (account: (typeof accounts)[number] | undefined) =>
        Effect.gen(function* () {
          if (account === undefined) return
          const hold = yield* store.ledger.reserve(account, 1)
          const id = `qry_${randomUUID().replaceAll("-", "")}`
          yield* store.ledger.settle(hold, [logEntry({ id, accountId: account.id }, "ledger alone")])
        })
      const measurements = yield* alternateInProcess(stage, 512, [
        ["all accounts", (n) => pay(accounts[n % accounts.length])],
        ["one account", () => pay(accounts[0])]
      ])
      const all = measurements.filter(({ subject }) => subject === "all accounts")
      const value = median(all.map(({ perSecond }) => perSecond))
      const figure = { name: "pairs a second, all accounts", value, unit: "", wanted: { atLeast: wantedPairs } }
      return { measurements, figures: [figure] }
    })
}

export const limiter: Scenario = {
  name: "limiter",
  measures: "the rate limiter alone, 64 in flight, beside its script sent by the bare client; service is the caller",
  run: (stage) =>
    Effect.gen(function* () {
      const url = Redacted.make(stage.stores.redisUrl)
      const context = yield* Layer.build(RateLimiterRedis.layer.pipe(Layer.provide(RedisConnection.layer({ url }))))
      const service = Context.get(context, RateLimiter)
      const client = yield* Effect.acquireRelease(
        Effect.sync(() => new Redis(stage.stores.redisUrl)),
        (client) => Effect.sync(() => client.disconnect())
      )
      const digest = hash("sha1", RateLimiterRedis.script)
      const credentials = stage.accountIds
      const credentialOf = (n: number) => `${credentials[n % credentials.length]}`
      const limit = 1_000_000
      const measurements = yield* alternateInProcess(stage, 64, [
        ["limiter", (n) => service.hit({ credential: credentialOf(n), limit })],
        [
          "script",
          (n) =>
            Effect.promise(() => client.evalsha(digest, 1, `quarry:rl:{${credentialOf(n)}}`, limit, windowMs * 1000))
        ]
      ])
      const value = median(ratios(measurements, "", ["limiter", "script"], ({ perSecond }) => perSecond))
      return { measurements, figures: [{ name: "the script's speed that is left", value, unit: "×" }] }
    })
}

/** Decodings per measurement, because reading the clock takes as long as a single decoding. */
const decodings = 1_000

/** 3 % of a search's 0.45 ms. */
const maxDecodeMicros = 13

export const decode: Scenario = {
  name: "decode",
  measures: `${decodings} decodings of GET /v1/query's parameters, and of a batch of 50 rows; service is this process`,
  run: (stage) =>
    Effect.gen(function* () {
      const decodeParameters = decoder(SearchParameters)
      const parameters = { query: "http caching", target: "alpha_search", geo: "us", page: "2", num: "10" }
      const queries = Array.from({ length: 50 }, (_, n) =>
        n % 2 === 0 ? `query ${n}` : { query: `query ${n}`, num: 5 }
      )
      const repeat = (one: () => Result.Result<unknown, unknown>) =>
        Effect.sync(() => {
          for (let n = 0; n < decodings; n++) Result.getOrThrow(one())
        })
      const measurements = yield* alternateInProcess(stage, 1, [
        ["query", () => repeat(() => Result.flatMap(decodeParameters(parameters), (fields) => toSearch(fields)))],
        ["batch", () => repeat(() => parseBulk({ queries, target: "alpha_search", geo: "de" }))]
      ])
      // Milliseconds per thousand decodings equal microseconds per decoding.
      const microsOf = (name: string) => median(runsOf(measurements, name, "").map(({ cpu }) => cpu.service))
      const figures = [
        { name: "query", value: microsOf("query"), unit: "µs", wanted: { atMost: maxDecodeMicros } },
        { name: "batch of 50 rows", value: microsOf("batch"), unit: "µs" }
      ]
      return { measurements, figures }
    })
}
