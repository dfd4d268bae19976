import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber, Layer, Result } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import { UpstreamError } from "../../../src/domain/errors.ts"
import { type BulkRows, parseBulk } from "../../../src/domain/search/BulkRequest.ts"
import type { SearchRequest } from "../../../src/domain/search/SearchRequest.ts"
import { QueryLog } from "../../../src/services/charging/QueryLog.ts"
import { Ledger } from "../../../src/services/credits/Ledger.ts"
import { Providers } from "../../../src/services/providers/Providers.ts"
import { Bulk } from "../../../src/services/search/Bulk.ts"
import { aCaller, found, providing, services } from "../../support/api/Services.ts"
import { advance } from "../../support/Time.ts"
import { traced } from "../../support/Traces.ts"
import { wholeStackRuns } from "../../support/wholeStackRuns.ts"

const rowsOf = (queries: ReadonlyArray<unknown>): BulkRows => Result.getOrThrow(parseBulk({ queries }))

/** A provider that takes as many milliseconds as the query says: `"slow 14900"`, or never answers `"never"`. */
const timed = providing((request) =>
  request.query.startsWith("never")
    ? Effect.never
    : Effect.as(Effect.sleep(Number(/\d+$/.exec(request.query)?.[0] ?? 0)), found(3))
)

const failing = new UpstreamError({ message: "no" })

/** Runs a batch and moves the clock second by second; answers what came and after how many milliseconds. */
const runTimed = Effect.fnUntraced(function* (queries: ReadonlyArray<unknown>, seconds: number, concurrency = 5) {
  const caller = yield* aCaller({ plan: "custom", quota: 1000, concurrency })
  const bulk = yield* Bulk
  const startedAt = yield* Clock.currentTimeMillis
  const fiber = yield* bulk.run(caller.principal, rowsOf(queries)).pipe(
    Effect.flatMap((served) => Effect.map(Clock.currentTimeMillis, (now) => ({ served, tookMs: now - startedAt }))),
    Effect.forkChild
  )
  for (let i = 0; i < seconds * 10; i++) yield* advance("100 millis")
  const { served, tookMs } = yield* Fiber.join(fiber)
  const log = yield* Effect.flatMap(QueryLog, (queryLog) => queryLog.recent(caller.account.id, 100))
  const allowance = yield* Effect.flatMap(Ledger, (ledger) => ledger.allowance(caller.account))
  return { ...served, tookMs, log, used: allowance.used, codes: served.body.results.map(codeOf) }
})

const codeOf = (row: { readonly status: string; readonly error?: string }) => row.error ?? row.status

describe("Bulk", () => {
  it.effect("returns rows in input order, in whichever order they finish", () =>
    Effect.gen(function* () {
      const { body, tookMs } = yield* runTimed(["a 900", "b 100", "c 500", "d 300", "e 700"], 2)
      assert.deepStrictEqual(
        body.results.map((row) => row.status === "ok" && row.query),
        ["a 900", "b 100", "c 500", "d 300", "e 700"]
      )
      assert.strictEqual(tookMs, 900)
    }).pipe(Effect.provide(services(timed)))
  )

  it.effect("I4: a row whose target has no provider is upstream_error and not charged; the others run", () =>
    Effect.gen(function* () {
      const rows = ["a 0", { query: "b", target: "gamma_search" }, "c 0", { query: "d", target: "gamma_search" }]
      const { codes, log, receipt, used } = yield* runTimed(rows, 1)
      assert.deepStrictEqual(codes, ["ok", "upstream_error", "ok", "upstream_error"])
      assert.strictEqual(receipt.creditsUsed, 2)
      assert.strictEqual(used, 2)
      assert.deepStrictEqual(
        log.map(({ request }) => request.target),
        ["alpha_search", "alpha_search"]
      )
    }).pipe(
      Effect.provide(
        services(
          Layer.effect(
            Providers,
            Effect.map(Providers, ({ search }) =>
              Providers.of({
                search,
                check: ({ target }) =>
                  Effect.succeed(target === "gamma_search" ? new UpstreamError({ message: "no provider" }) : undefined),
                serves: () => Effect.succeed(true),
                labels: {},
                order: {}
              })
            )
          ).pipe(Layer.provide(timed))
        )
      )
    )
  )

  it.effect("R20: a row has 15 seconds of its own: 14.9 s is answered, never is upstream_timeout at 15 s", () =>
    Effect.gen(function* () {
      const { codes, receipt, tookMs } = yield* runTimed(["a 14900", "never"], 20)
      assert.deepStrictEqual(codes, ["ok", "upstream_timeout"])
      assert.strictEqual(tookMs, 15_000)
      assert.strictEqual(receipt.creditsUsed, 2)
    }).pipe(Effect.provide(services(timed)))
  )

  it.effect(
    "R20: a batch beyond the room of the process waits until there is room for it, and its rows have their time",
    () =>
      Effect.gen(function* () {
        const bulk = yield* Bulk
        const startedAt = yield* Clock.currentTimeMillis
        const fibers = []
        // Ten batches of 50 have room at a time.
        for (let batch = 0; batch < 31; batch++) {
          const caller = yield* aCaller({ plan: "custom", quota: 1000, concurrency: 50 })
          const rows = rowsOf(Array.from({ length: 50 }, (_, row) => `${batch} ${row} 14000`))
          const timed = Effect.flatMap(bulk.run(caller.principal, rows), ({ body }) =>
            Effect.map(Clock.currentTimeMillis, (at) => [at - startedAt, body.succeeded])
          )
          fibers.push(yield* Effect.forkChild(timed))
        }
        for (let seconds = 0; seconds < 56; seconds++) yield* advance("1 second")
        assert.deepStrictEqual(
          yield* Effect.forEach(fibers, Fiber.join),
          fibers.map((_, batch) => [14_000 * (1 + Math.floor(batch / 10)), 50])
        )
      }).pipe(Effect.provide(services(timed)))
  )

  it.effect("R20: runs as many rows side by side as the plan's concurrency, and at least 5", () =>
    Effect.gen(function* () {
      const rows = Array.from({ length: 20 }, (_, i) => `row ${i} 1000`)
      assert.strictEqual((yield* runTimed(rows, 5, 1)).tookMs, 4000)
      assert.strictEqual((yield* runTimed(rows, 5, 10)).tookMs, 2000)
    }).pipe(Effect.provide(services(timed, { ttlSeconds: 0 })))
  )

  it.effect(
    "R19: at 60 s, rows in flight are charged upstream_timeouts, rows not started are not charged and say so",
    () =>
      Effect.gen(function* () {
        // 5 at a time, 14 s each: 20 end by 56 s, 5 are in flight at 60 s, 25 never start.
        const batch = yield* runTimed(
          Array.from({ length: 50 }, (_, i) => `row ${i} 14000`),
          61
        )
        assert.strictEqual(batch.tookMs, 60_000)
        assert.deepStrictEqual(batch.codes, [...Array(20).fill("ok"), ...Array(30).fill("upstream_timeout")])
        assert.strictEqual(batch.receipt.creditsUsed, 25)
        assert.strictEqual(batch.used, 25)
        assert.strictEqual(batch.log.length, 25)
        const messages = batch.body.results.map((row) => (row.status === "error" ? row.message : ""))
        assert.deepStrictEqual(
          messages.slice(20).map((message) => /not charged/.test(message)),
          [...Array(5).fill(false), ...Array(25).fill(true)]
        )
      }).pipe(Effect.provide(services(timed)))
  )

  it.effect(
    "R19: each row has one span with the outcome of the response, even if it was cut off, rejected or never started",
    () =>
      Effect.gen(function* () {
        const { spans } = yield* traced(runTimed(Array.from({ length: 30 }, (_, i) => `row ${i} 14000`).concat(""), 61))
        const rows = spans.filter(({ name }) => name === "quarry.row").map(({ attributes }) => attributes)
        assert.deepStrictEqual(
          rows.map((row) => row["quarry.row.index"]),
          Array.from({ length: 31 }, (_, i) => i)
        )
        const told = rows.map((row) => [row["quarry.outcome"], row["quarry.dispatched"], row["quarry.credits"]])
        assert.deepStrictEqual(told, [
          ...Array(20).fill(["ok", true, 1]),
          ...Array(5).fill(["upstream_timeout", true, 1]),
          ...Array(5).fill(["upstream_timeout", false, 0]),
          ["invalid_request", false, 0]
        ])
      }).pipe(Effect.provide(services(timed)))
  )

  it.effect("a batch that ends just before 60 s is not cut off", () =>
    Effect.gen(function* () {
      const { codes, tookMs } = yield* runTimed(
        Array.from({ length: 20 }, (_, i) => `row ${i} 14900`),
        61
      )
      assert.deepStrictEqual(codes, Array(20).fill("ok"))
      assert.strictEqual(tookMs, 59_600)
    }).pipe(Effect.provide(services(timed)))
  )

  it.effect("a provider that ignores its cancellation does not hold the answer back", () =>
    Effect.gen(function* () {
      const { codes, tookMs } = yield* runTimed(
        Array.from({ length: 25 }, (_, i) => `row ${i}`),
        62
      )
      assert.deepStrictEqual(codes, Array(25).fill("upstream_timeout"))
      assert.strictEqual(tookMs, 60_000)
      // The rows left behind have to end before the test can.
      yield* advance("100 seconds")
    }).pipe(
      Effect.provide(services(providing(() => Effect.uninterruptible(Effect.as(Effect.sleep(100_000), found(1))))))
    )
  )

  it.effect("R18: a batch without a valid row needs no credit", () =>
    Effect.gen(function* () {
      const caller = yield* aCaller({ plan: "custom", quota: 0 })
      const bulk = yield* Bulk
      const { body, receipt } = yield* bulk.run(caller.principal, rowsOf([1, "", { query: "a", geo: "xx" }]))
      assert.deepStrictEqual(body.results.map(codeOf), ["invalid_request", "invalid_request", "unsupported_geo"])
      assert.strictEqual(receipt.creditsUsed, 0)
      const refused = yield* Effect.flip(bulk.run(caller.principal, rowsOf([1, "a"])))
      assert.strictEqual(refused._tag, "quota_exceeded")
    }).pipe(Effect.provide(services(timed)))
  )

  it.effect("R18: is refused as a whole when its valid rows need more than remaining and balance", () =>
    Effect.gen(function* () {
      const caller = yield* aCaller({ plan: "custom", quota: 3 })
      const ledger = yield* Ledger
      yield* ledger.grant(caller.account.id, 2, "test")
      const bulk = yield* Bulk
      const refused = yield* Effect.flip(bulk.run(caller.principal, rowsOf(["a", "b", "c", "d", "e", "f"])))
      assert.deepInclude(refused, { remaining: 3, balance: 2 })
      assert.lengthOf(yield* Effect.flatMap(QueryLog, (log) => log.recent(caller.account.id, 10)), 0)
      const { receipt } = yield* bulk.run(caller.principal, rowsOf(["a", "b", "c", "d", "e", 6]))
      assert.strictEqual(receipt.creditsUsed, 5)
      assert.strictEqual(receipt.balance, 0)
    }).pipe(Effect.provide(services(timed)))
  )

  it.effect("a defect in one row is its internal_error, not charged, and the others go on", () =>
    Effect.gen(function* () {
      const { codes, log, receipt, used } = yield* runTimed(["a", "boom", "b", "fail"], 1)
      assert.deepStrictEqual(codes, ["ok", "internal_error", "ok", "upstream_error"])
      assert.strictEqual(receipt.creditsUsed, 3)
      assert.strictEqual(used, 3)
      assert.lengthOf(log, 3)
    }).pipe(
      Effect.provide(
        services(
          providing(({ query }) =>
            query === "boom" ? Effect.die("boom") : query === "fail" ? Effect.fail(failing) : Effect.succeed(found(1))
          )
        )
      )
    )
  )

  it.effect("R21: a caller that leaves stops rows that have not started; those dispatched are charged and logged", () =>
    Effect.gen(function* () {
      const caller = yield* aCaller({ plan: "custom", quota: 100, concurrency: 5 })
      const bulk = yield* Bulk
      const fiber = yield* Effect.forkChild(
        bulk.run(caller.principal, rowsOf(Array.from({ length: 20 }, (_, i) => `row ${i} 1000`)))
      )
      yield* advance("1500 millis")
      yield* Fiber.interrupt(fiber)
      yield* advance("5 seconds")
      const log = yield* Effect.flatMap(QueryLog, (queryLog) => queryLog.recent(caller.account.id, 100))
      const { used } = yield* Effect.flatMap(Ledger, (ledger) => ledger.allowance(caller.account))
      assert.lengthOf(log, 10)
      assert.isTrue(log.every(({ outcome }) => outcome === "ok"))
      assert.strictEqual(used, 10)
    }).pipe(Effect.provide(services(timed)))
  )

  it.effect("every log entry of a batch carries its batch id", () =>
    Effect.gen(function* () {
      const { body, log } = yield* runTimed(["a", "b", 3], 1)
      assert.match(body.batch_id, /^bat_[0-9a-f]{32}$/)
      assert.deepStrictEqual(
        log.map(({ batchId }) => batchId),
        [body.batch_id, body.batch_id]
      )
    }).pipe(Effect.provide(services(timed)))
  )
})

/** The behaviour of a row's provider, chosen by the row's query. */
const behaviour: Record<string, Effect.Effect<ReturnType<typeof found>, UpstreamError>> = {
  ok: Effect.succeed(found(2)),
  slow: Effect.as(Effect.sleep(200), found(2)),
  fail: Effect.fail(failing),
  never: Effect.never,
  boom: Effect.die("boom")
}

const behaving = providing(({ query }: SearchRequest) => behaviour[query.split(" ", 1).join("")] ?? Effect.die(query))

const entry = fc.oneof(
  fc.tuple(fc.constantFrom(...Object.keys(behaviour)), fc.nat(5)).map(([kind, n]) => `${kind} ${n}`),
  fc.tuple(fc.constantFrom("ok", "slow", "fail"), fc.nat(5)).map(([kind, n]) => ({ query: `${kind} ${n}`, num: 3 })),
  fc.constantFrom<unknown>("", 7, null, { query: "ok", geo: "zz" }, { query: "ok", page: 2 }, { num: 3 }, ["ok"])
)

describe("Bulk accounting", () => {
  it(
    "X-Credits-Used = rows charged = log entries = change in used and balance, for any batch",
    () =>
      fc.assert(
        fc.asyncProperty(
          fc.array(entry, { minLength: 1, maxLength: 50 }),
          fc.nat(60),
          fc.nat(60),
          async (queries, quota, packs) => {
            const program = Effect.gen(function* () {
              const caller = yield* aCaller({ plan: "custom", quota, concurrency: 10 })
              const ledger = yield* Ledger
              if (packs > 0) yield* ledger.grant(caller.account.id, packs, "test")
              const bulk = yield* Bulk
              const fiber = yield* Effect.forkChild(Effect.result(bulk.run(caller.principal, rowsOf(queries))))
              for (let i = 0; i < 62; i++) yield* advance("1 second")
              const outcome = yield* Fiber.join(fiber)
              const log = yield* Effect.flatMap(QueryLog, (queryLog) => queryLog.recent(caller.account.id, 100))
              const after = yield* ledger.allowance(caller.account)
              const spent = after.used + (packs - after.balance)
              assert.deepStrictEqual(yield* ledger.verify, [])
              if (Result.isFailure(outcome)) {
                assert.strictEqual(spent, 0)
                assert.lengthOf(log, 0)
                const valid = rowsOf(queries).filter(Result.isSuccess).length
                assert.isAbove(valid, quota + packs)
                return
              }
              const { body, receipt } = outcome.success
              const dispatched = body.results.filter(
                (row) =>
                  row.status === "ok" ||
                  row.error === "upstream_error" ||
                  (row.error === "upstream_timeout" && !/not charged/.test(row.message))
              ).length
              assert.strictEqual(receipt.creditsUsed, dispatched)
              assert.strictEqual(receipt.creditsUsed, log.length)
              assert.strictEqual(receipt.creditsUsed, spent)
              assert.strictEqual(body.succeeded + body.failed, body.total)
              assert.strictEqual(body.total, queries.length)
            })
            await Effect.runPromise(
              program.pipe(Effect.provide(services(behaving)), Effect.provide(TestClock.layer()), Effect.scoped)
            )
          }
        ),
        { numRuns: wholeStackRuns }
      ),
    60_000
  )
})
