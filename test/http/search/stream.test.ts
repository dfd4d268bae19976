import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Schema } from "effect"
import { TestClock } from "effect/testing"
import { UpstreamError } from "../../../src/domain/errors.ts"
import { BulkLine } from "../../../src/domain/search/BulkResult.ts"
import { QueryLog } from "../../../src/services/charging/QueryLog.ts"
import { Ledger } from "../../../src/services/credits/Ledger.ts"
import { aCaller, type Caller, found, providing, services } from "../../support/api/Services.ts"
import * as TestApi from "../../support/api/TestApi.ts"
import { advance } from "../../support/Time.ts"

const providers = providing(({ query }) => {
  if (query === "fail") return Effect.fail(new UpstreamError({ message: "The search provider could not be reached." }))
  if (query === "boom") return Effect.die(new Error("a bug with a secret inside"))
  if (query.startsWith("never")) return Effect.never
  return Effect.as(Effect.sleep(Number(/\d+$/.exec(query)?.[0] ?? 0)), found(2))
})

const layer = services(providers)

const lines = "application/x-ndjson"

/** Posts a batch and moves the clock until it must have ended. */
const post = Effect.fnUntraced(function* (
  caller: Caller,
  queries: ReadonlyArray<unknown>,
  accept = lines,
  seconds = 62
) {
  const api = yield* TestApi.make
  const fiber = yield* Effect.forkChild(
    api.send("POST", "/v1/bulk", {
      headers: { ...caller.auth, "content-type": "application/json", accept },
      body: JSON.stringify({ queries })
    })
  )
  for (let second = 0; second < seconds; second++) yield* advance("1 second")
  return yield* Fiber.join(fiber)
})

// biome-ignore lint/suspicious/noExplicitAny: a test looks into lines of every shape and asserts what it finds.
const parse = (text: string): ReadonlyArray<any> =>
  text.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line)]))

const spent = Effect.fnUntraced(function* ({ account }: Caller) {
  const ledger = yield* Ledger
  const { balance, used } = yield* ledger.allowance(account)
  const log = yield* Effect.flatMap(QueryLog, (queryLog) => queryLog.recent(account.id, 100))
  assert.deepStrictEqual(yield* ledger.verify, [])
  return { used, balance, log }
})

const growth = aCaller({ plan: "growth" })

describe("R46: a batch that is streamed", () => {
  it.effect("answers its batch line, its rows as they finish, and a summary, each row as in the JSON body", () =>
    Effect.gen(function* () {
      const caller = yield* growth
      const queries = ["slow 3000", "", "fast 1000", "fail", "boom", { query: "x", geo: "zz" }]
      const answer = yield* post(caller, queries)
      assert.strictEqual(answer.status, 200)
      assert.strictEqual(answer.headers.get("content-type"), lines)
      assert.strictEqual(answer.headers.get("cache-control"), "no-store, no-transform")
      assert.strictEqual(answer.headers.get("x-accel-buffering"), "no")
      for (const line of parse(answer.text)) Schema.decodeUnknownSync(BulkLine)(line)
      const [first, ...rest] = parse(answer.text)
      const summary = rest.pop()
      assert.deepStrictEqual(Object.keys(first), ["type", "batch_id", "total"])
      assert.deepInclude(first, { type: "batch", total: 6 })
      assert.deepStrictEqual(
        rest.map(({ error, index, status, type }) => [type, index, error ?? status]),
        [
          ["row", 1, "invalid_request"],
          ["row", 5, "unsupported_geo"],
          ["row", 3, "upstream_error"],
          ["row", 4, "internal_error"],
          ["row", 2, "ok"],
          ["row", 0, "ok"]
        ]
      )
      assert.deepStrictEqual(summary, {
        type: "summary",
        batch_id: first.batch_id,
        total: 6,
        succeeded: 2,
        failed: 4,
        credits_used: 3
      })
      const { log, used } = yield* spent(caller)
      assert.strictEqual(used, 3)
      const served = rest.filter(({ status }) => status === "ok").map(({ id }) => id)
      assert.sameMembers(
        served,
        log.filter(({ outcome }) => outcome === "ok").map(({ id }) => id)
      )
      assert.isTrue(log.every(({ batchId }) => batchId === first.batch_id))
      const plain = (yield* post(yield* growth, queries, "application/json")).json
      const shape = ({ id: _, ...row }: Record<string, unknown>) => row
      assert.deepStrictEqual(
        rest.sort((one, other) => one.index - other.index).map(({ index: _, type: __, ...row }) => shape(row)),
        plain.results.map(shape)
      )
    }).pipe(Effect.provide(layer))
  )

  for (const [accept, type] of [
    [lines, lines],
    ["Application/X-NDJSON", lines],
    [`${lines}, application/json`, lines],
    [`${lines}, */*;q=0.1`, lines],
    [`${lines};q=0.9, application/json;q=0.9`, lines],
    ["*/*", "application/json"],
    ["application/*", "application/json"],
    ["text/event-stream", "application/json"],
    [`${lines};q=0`, "application/json"],
    [`${lines};q=0.5, */*`, "application/json"],
    [`application/json, ${lines};q=0.9`, "application/json"],
    [`${lines}+x`, "application/json"]
  ] as const) {
    it.effect(`Accept: ${accept} is answered with ${type}`, () =>
      Effect.gen(function* () {
        const answer = yield* post(yield* growth, ["a"], accept, 1)
        assert.strictEqual(answer.headers.get("content-type"), type)
      }).pipe(Effect.provide(layer))
    )
  }

  it.effect("says what the quota was, and neither cost nor balance, which nobody knows yet", () =>
    Effect.gen(function* () {
      const answer = yield* post(yield* growth, ["a"], lines, 1)
      assert.deepStrictEqual(
        TestApi.apiHeaders(answer).filter((name) => !name.includes("ratelimit")),
        ["x-accel-buffering", "x-quota-limit", "x-quota-remaining", "x-quota-reset", "x-quota-used", "x-request-id"]
      )
    }).pipe(Effect.provide(layer))
  )

  it.effect("what is refused before the first row is a plain answer with its status", () =>
    Effect.gen(function* () {
      const poor = yield* aCaller({ plan: "custom", quota: 1 })
      const refused = yield* post(poor, ["a", "b"], lines, 1)
      assert.strictEqual(refused.status, 402)
      assert.strictEqual(refused.json.error, "quota_exceeded")
      assert.strictEqual(refused.headers.get("x-credits-used"), "0")
      assert.strictEqual((yield* post(poor, [], lines, 1)).status, 400)
      assert.strictEqual((yield* post({ ...poor, auth: { authorization: "Bearer no" } }, ["a"], lines, 1)).status, 401)
      assert.deepInclude(yield* spent(poor), { used: 0, log: [] })
      const empty = parse((yield* post(yield* aCaller({ plan: "custom", quota: 0 }), [""], lines, 1)).text)
      assert.deepInclude(empty.at(-1), { type: "summary", failed: 1, credits_used: 0 })
    }).pipe(Effect.provide(layer))
  )

  it.effect("R19: at 60 s rows in flight are charged, rows that never started are not, and the rest comes back", () =>
    Effect.gen(function* () {
      const caller = yield* aCaller({ plan: "custom", quota: 30, concurrency: 5 })
      yield* Effect.flatMap(Ledger, (ledger) => ledger.grant(caller.account.id, 20, "test"))
      const answer = yield* post(
        caller,
        Array.from({ length: 50 }, (_, i) => `row ${i} 14000`)
      )
      const rows = parse(answer.text).filter(({ type }) => type === "row")
      assert.lengthOf(rows, 50)
      assert.lengthOf(
        rows.filter(({ status }) => status === "ok"),
        20
      )
      assert.lengthOf(
        rows.filter(({ message }) => /not charged/.test(message ?? "")),
        25
      )
      assert.deepInclude(parse(answer.text).at(-1), { succeeded: 20, failed: 30, credits_used: 25 })
      const { balance, log, used } = yield* spent(caller)
      assert.deepStrictEqual({ used, balance, logged: log.length }, { used: 25, balance: 20, logged: 25 })
    }).pipe(Effect.provide(layer))
  )

  it.effect("writes an empty line where none came for 10 seconds", () =>
    Effect.gen(function* () {
      const { text } = yield* post(yield* growth, ["row 12000", "never"])
      const kinds = text.split("\n").map((line) => (line === "" ? "" : JSON.parse(line).type))
      assert.deepStrictEqual(kinds, ["batch", "", "row", "row", "summary", ""])
    }).pipe(Effect.provide(layer))
  )

  it.effect("R24: the demo streams, free and logged without an account", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const answer = yield* api.send("POST", "/v1/bulk", {
        headers: {
          "x-demo-origin": "https://www.quarry.test",
          "x-forwarded-for": "192.0.2.1",
          "content-type": "application/json",
          accept: lines
        },
        body: JSON.stringify({ queries: ["a", "b"] })
      })
      assert.deepInclude(parse(answer.text).at(-1), { succeeded: 2, credits_used: 0 })
      yield* TestClock.adjust("1 second")
    }).pipe(Effect.provide(layer))
  )
})
