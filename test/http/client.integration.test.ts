import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Duration, Effect, Layer, References, Result, Schema } from "effect"
import {
  InvalidRequest,
  NotFound,
  QuotaExceeded,
  RateLimited,
  Unauthorized,
  UnsupportedGeo,
  UnsupportedParameter,
  UpstreamError,
  UpstreamTimeout
} from "../../src/domain/errors.ts"
import { decoder } from "../../src/domain/requests/fields.ts"
import { geos } from "../../src/domain/search/Geo.ts"
import { SearchParameters, type SearchRequest, toSearch } from "../../src/domain/search/SearchRequest.ts"
import { targets } from "../../src/domain/search/Target.ts"
import * as Listener from "../../src/process/Listener.ts"
import { Readiness } from "../../src/services/operations/Readiness.ts"
import { SignedIn } from "../../src/testing/SessionsMemory.ts"
import * as ApiClient from "../support/api/ApiClient.ts"
import { aCaller, found, providing, services, servicesOver, unlimited } from "../support/api/Services.ts"
import * as MemoryStorage from "../support/stores/MemoryStorage.ts"

/** The public listener on a free port, and a client for it. */
const listening = Effect.fnUntraced(function* () {
  const { port } = yield* Listener.make({
    host: "127.0.0.1",
    port: 0,
    grace: Duration.seconds(5),
    drainDelay: Duration.zero
  }).pipe(Effect.provideService(References.MinimumLogLevel, "None"))
  const baseUrl = `http://127.0.0.1:${port}`
  return (headers: Readonly<Record<string, string>> = {}) => ApiClient.make(baseUrl, headers)
})

const providers = providing(({ query }) => {
  if (query === "fail") return Effect.fail(new UpstreamError({ message: "no" }))
  if (query === "late") return Effect.fail(new UpstreamTimeout({ message: "late" }))
  return Effect.succeed(found(2))
})

const listener = Layer.merge(Readiness.layer, NodeHttpServer.layerHttpServices)

const layer = Layer.merge(services(providers), listener)

const payload = { jsonrpc: "2.0", id: 1, method: "ping" } as const

describe("a client made from the API's definition", () => {
  it.live("gets the answer of every route, decoded", () =>
    Effect.gen(function* () {
      const clientWith = yield* listening()
      const { account, auth } = yield* aCaller({ plan: "trial" })
      const { account: me, mcp, search } = yield* clientWith(auth)
      const cookie = yield* Effect.flatMap(SignedIn, (signedIn) => signedIn.cookie(account))
      const own = yield* clientWith({ cookie, origin: "http://quarry.test" })

      const result = yield* search.query({ query: { query: " css  grid ", num: 2, page: 1, geo: "DE" } })
      assert.deepInclude(result, { query: "css grid", geo: "de", locale: "de-de" })
      assert.lengthOf(result.results.organic, 2)
      const batch = yield* search.bulk({ payload: { queries: ["a", { query: "b", num: 1 }, { query: "fail" }] } })
      assert.deepInclude(batch, { total: 3, succeeded: 2, failed: 1 })
      assert.strictEqual((yield* me.me({})).credits_available, 96)
      assert.deepInclude(yield* mcp.mcp({ payload }), { id: 1, result: {} })

      const from = Date.now() - 3_600_000
      const usage = yield* own.usage.usage({ query: { from, granularity: "hour", group_by: "target" } })
      assert.deepInclude(usage, { from, group_by: "target", used: 4 })
      const recent = yield* own.usage.recent({ query: { limit: 2 } })
      assert.lengthOf(recent.queries, 2)
      const first = yield* own.usage.history({ query: { limit: 3, from } })
      assert.isNumber(first.queries[0]?.created_at)
      if (first.next_cursor === null) return assert.fail("there is no second page")
      const second = yield* own.usage.history({ query: { cursor: first.next_cursor, limit: 3, from } })
      assert.deepStrictEqual(
        second.queries.map(({ query }) => query),
        ["css grid"]
      )

      const issued = yield* own.keys.create({ payload: { name: "CI", type: "test" } })
      assert.match(issued.secret, /^sk_test_/)
      const rotated = yield* own.keys.rotate({ params: { id: issued.id }, payload: {} })
      yield* own.keys.revoke({ params: { id: rotated.id } })
      const { api_keys } = yield* own.keys.list({})
      assert.isNumber(api_keys.find(({ id }) => id === rotated.id)?.revoked_at)
      const document = yield* own.account.export({})
      assert.strictEqual(document.account.created_at, account.createdAt)
      assert.lengthOf(document.queries, 4)
      yield* own.account.remove({})
    }).pipe(Effect.provide(layer))
  )

  it.live("gets every error as its class, with its fields", () =>
    Effect.gen(function* () {
      const clientWith = yield* listening()
      const { account, auth } = yield* aCaller({ plan: "custom", quota: 2, concurrency: 1 })
      const { search } = yield* clientWith(auth)
      const failure = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.flip(effect)

      const geo = yield* failure(search.query({ query: { query: "a", geo: "zz" } }))
      assert.instanceOf(geo, UnsupportedGeo)
      assert.deepStrictEqual(geo.details, geos)
      const page = yield* failure(search.query({ query: { query: "a", target: "beta_search", page: 2 } }))
      assert.instanceOf(page, UnsupportedParameter)
      assert.strictEqual(page.message, "beta_search accepts only page 1.")
      assert.instanceOf(yield* failure(search.query({ query: { query: "fail" } })), UpstreamError)
      assert.instanceOf(yield* failure(search.query({ query: { query: "late" } })), UpstreamTimeout)
      const quota = yield* failure(search.query({ query: { query: "a" } }))
      assert.instanceOf(quota, QuotaExceeded)
      assert.deepInclude(quota, { plan: "custom", quota: 2, creditsUsed: 2, remaining: 0, balance: 0 })
      assert.isNumber(quota.resetsAt)

      const anyone = yield* clientWith()
      assert.instanceOf(yield* failure(anyone.account.me({})), Unauthorized)
      const cookie = yield* Effect.flatMap(SignedIn, (signedIn) => signedIn.cookie(account))
      const own = yield* clientWith({ cookie, origin: "http://quarry.test" })
      assert.instanceOf(yield* failure(own.keys.revoke({ params: { id: "key_0" } })), NotFound)
      const from = Date.now()
      const stretch = yield* failure(own.usage.usage({ query: { from: from + 7_200_000 } }))
      assert.instanceOf(stretch, InvalidRequest)
      assert.deepStrictEqual(stretch.issues, [{ field: "from", message: "must be before to" }])

      for (let hits = 0; hits < 60; hits++) yield* Effect.exit(search.query({ query: { query: "a" } }))
      const limited = yield* failure(search.query({ query: { query: "a" } }))
      assert.instanceOf(limited, RateLimited)
      assert.isFalse("retryAfterSeconds" in limited)
    }).pipe(Effect.provide(layer))
  )
})

const isParameters = Schema.is(SearchParameters)

/** Any decoded parameters, with a supported country in place of most others, and a low page of any target. */
const parameters = Arbitrary.map(
  Arbitrary.all([
    Arbitrary.schema(SearchParameters),
    Arbitrary.schema(
      Schema.Struct({
        geo: Schema.Literals(geos),
        page: Schema.Literals([1, 2, 5, 6, 7]),
        target: Schema.Literals(targets)
      })
    )
  ]),
  ([{ geo, page, ...fields }, replaced]) => ({
    ...fields,
    ...(geo === undefined ? {} : { geo: geo.length % 3 === 0 ? "zz" : replaced.geo }),
    ...(page === undefined ? {} : { page: replaced.page, target: replaced.target })
  })
).pipe(Arbitrary.filter((fields) => isParameters(fields)))

const encode = Schema.encodeSync(SearchParameters)
const decode = decoder(SearchParameters)

describe("the server decodes what a client encodes", () => {
  const searches: Array<SearchRequest> = []
  const capturing = providing((request) => {
    searches.push(request)
    return Effect.succeed(found(1))
  })

  it.live("GET /v1/query, for any parameters of its schema", () =>
    Effect.gen(function* () {
      const clientWith = yield* listening()
      const { auth } = yield* aCaller({ plan: "custom", quota: 1_000_000, concurrency: 1 })
      const { search } = yield* clientWith(auth)
      const outcomes = new Set<string>()
      const checked = yield* Arbitrary.checkEffect(
        parameters,
        Effect.fnUntraced(function* (query) {
          searches.length = 0
          const result = yield* Effect.result(search.query({ query }))
          // The schema normalises white space, letter case and the length of source; a query of spaces is none.
          const expected = Result.flatMap(decode(encode(query)), (fields) => toSearch(fields))
          if (Result.isFailure(expected)) {
            outcomes.add(expected.failure._tag)
            assert.deepStrictEqual(Result.isFailure(result) && result.failure, expected.failure)
          } else {
            outcomes.add("ok")
            assert.isTrue(Result.isSuccess(result))
            assert.deepStrictEqual(searches, [expected.success])
          }
          return true
        }),
        { runs: 300 }
      )
      assert.strictEqual(checked._tag, "Passed", Arbitrary.formatCheckFailure(checked))
      assert.includeMembers([...outcomes], ["ok", "unsupported_geo", "unsupported_parameter"])
    }).pipe(
      Effect.provide(
        Layer.merge(
          servicesOver(MemoryStorage.layer, capturing, { limiter: unlimited, cacheTtl: Duration.zero }),
          listener
        )
      )
    )
  )
})
