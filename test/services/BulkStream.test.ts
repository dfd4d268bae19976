import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer, Result, Scope } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import { UpstreamError } from "../../src/domain/errors.ts"
import { type BulkRows, parseBulk } from "../../src/domain/search/BulkRequest.ts"
import type { BulkLineBody, RowBody } from "../../src/domain/search/BulkResult.ts"
import type { StreamedBatch } from "../../src/services/charging/Batches.ts"
import { QueryLog } from "../../src/services/charging/QueryLog.ts"
import { Ledger } from "../../src/services/credits/Ledger.ts"
import { Bulk } from "../../src/services/search/Bulk.ts"
import { aCaller, type Caller, found, providing, services } from "../support/api/Services.ts"
import { advance } from "../support/Time.ts"
import { traced } from "../support/Traces.ts"
import { wholeStackRuns } from "../support/wholeStackRuns.ts"

const rowsOf = (queries: ReadonlyArray<unknown>): BulkRows => Result.getOrThrow(parseBulk({ queries }))

const providers = providing(({ query }) => {
  if (query.startsWith("fail")) return Effect.fail(new UpstreamError({ message: "no" }))
  if (query.startsWith("boom")) return Effect.die("boom")
  if (query.startsWith("never")) return Effect.never
  return Effect.as(Effect.sleep(Number(/\d+$/.exec(query)?.[0] ?? 0)), found(2))
})

const layer = services(providers, { ttlSeconds: 0 })

/** Reads lines until the batch has ended. */
const readAll = Effect.fnUntraced(function* ({ take }: StreamedBatch<RowBody>, lines: Array<BulkLineBody> = []) {
  for (let taken = yield* take; taken.length > 0; taken = yield* take) lines.push(...taken)
  return lines
})

const booksOf = Effect.fnUntraced(function* ({ account }: Caller) {
  const ledger = yield* Ledger
  assert.deepStrictEqual(yield* ledger.verify, [])
  const { balance, used } = yield* ledger.allowance(account)
  const log = yield* Effect.flatMap(QueryLog, (queries) => queries.recent(account.id, 100))
  return { used, balance, log }
})

const range = (length: number, row: (n: number) => string) => Array.from({ length }, (_, n) => row(n))

describe("Bulk.stream", () => {
  it.effect("R46: a row can be read at the moment at which it is settled, and the log has it then", () =>
    Effect.gen(function* () {
      const caller = yield* aCaller({ plan: "custom", quota: 100, concurrency: 5 })
      const batch = yield* (yield* Bulk).stream(caller.principal, rowsOf(["slow 5000", "fast 1000"]))
      const lines: Array<BulkLineBody> = []
      const reader = yield* Effect.forkChild(readAll(batch, lines))
      yield* advance("999 millis")
      assert.deepStrictEqual(
        lines.map(({ type }) => type),
        ["batch"]
      )
      yield* advance("1 millis")
      const row = lines[1]
      assert(row?.type === "row" && row.body.status === "ok")
      assert.strictEqual(row.index, 1)
      const { log, used } = yield* booksOf(caller)
      assert.deepStrictEqual(
        log.map(({ id }) => id),
        [row.body.id]
      )
      assert.strictEqual(used, 2, "the other row is held")
      yield* advance("4 seconds")
      assert.lengthOf(yield* Fiber.join(reader), 4)
      assert.strictEqual((yield* booksOf(caller)).used, 2)
    }).pipe(Effect.scoped, Effect.provide(layer))
  )

  it.effect("R46: no row starts while its reader has not come back, and rows that run are settled all the same", () =>
    Effect.gen(function* () {
      const caller = yield* aCaller({ plan: "custom", quota: 100, concurrency: 5 })
      const batch = yield* (yield* Bulk).stream(caller.principal, rowsOf(range(20, (n) => `row ${n} 1000`)))
      yield* advance("3 seconds")
      assert.lengthOf((yield* booksOf(caller)).log, 0, "nobody has read the first line")
      yield* batch.take
      const waiting = yield* Effect.forkChild(batch.take)
      yield* advance("3 seconds")
      assert.lengthOf(yield* Fiber.join(waiting), 1)
      assert.lengthOf((yield* booksOf(caller)).log, 5, "five ran when the reader waited; it has not come back")
      const reader = yield* Effect.forkChild(readAll(batch))
      yield* advance("5 seconds")
      yield* Fiber.join(reader)
      assert.lengthOf((yield* booksOf(caller)).log, 20)
    }).pipe(Effect.scoped, Effect.provide(layer))
  )

  it.effect("R21: a reader that leaves stops rows that have not started; the rest of the hold comes back at once", () =>
    Effect.gen(function* () {
      const caller = yield* aCaller({ plan: "custom", quota: 100, concurrency: 5 })
      const scope = yield* Scope.make()
      const bulk = yield* Bulk
      const batch = yield* Scope.provide(
        bulk.stream(caller.principal, rowsOf(range(20, (n) => `row ${n} 1000`))),
        scope
      )
      const reader = yield* Effect.forkChild(readAll(batch))
      yield* advance("1500 millis")
      yield* Fiber.interrupt(reader)
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual((yield* booksOf(caller)).used, 20)
      yield* advance("500 millis")
      const { log, used } = yield* booksOf(caller)
      assert.lengthOf(log, 10)
      assert.strictEqual(used, 10)
    }).pipe(Effect.provide(layer))
  )

  it.effect("at the end of the process rows that still run are not charged, and the batch ends", () =>
    Effect.gen(function* () {
      const storage = yield* Layer.build(layer)
      yield* Effect.gen(function* () {
        const process = yield* Scope.make()
        const caller = yield* aCaller({ plan: "custom", quota: 100, concurrency: 5 })
        const context = yield* Layer.buildWithScope(Layer.fresh(Bulk.layer), process)
        const bulk = Context.get(context, Bulk)
        const batch = yield* bulk.stream(caller.principal, rowsOf(range(20, (n) => `row ${n} 1000`)))
        const reader = yield* Effect.forkChild(readAll(batch))
        yield* advance("1500 millis")
        yield* Scope.close(process, Exit.void)
        const lines = yield* Fiber.join(reader)
        assert.deepInclude(lines.at(-1), { type: "summary", succeeded: 5, failed: 15, credits_used: 5 })
        assert.strictEqual((yield* booksOf(caller)).used, 5)
      }).pipe(Effect.provideContext(storage))
    }).pipe(Effect.scoped)
  )

  it.effect("I4: a row that cannot be settled is an internal_error, and neither charged nor counted", () =>
    Effect.gen(function* () {
      const caller = yield* aCaller({ plan: "custom", quota: 100, concurrency: 5 })
      const batch = yield* (yield* Bulk).stream(caller.principal, rowsOf(["a", "b"]))
      const lines = yield* readAll(batch)
      assert.deepStrictEqual(
        lines.flatMap((line) => (line.type === "row" && line.body.status === "error" ? [line.body.error] : [])),
        ["internal_error", "internal_error"]
      )
      const summary = lines.at(-1)
      assert.deepInclude(summary, { type: "summary", succeeded: 0, failed: 2, credits_used: 0 })
      assert.deepInclude(yield* booksOf(caller), { used: 0, log: [] })
    }).pipe(
      Effect.scoped,
      Effect.provide(
        services(
          providers,
          { ttlSeconds: 0 },
          Layer.effect(
            Ledger,
            Effect.map(Ledger, (ledger) => Ledger.of({ ...ledger, settlePart: () => Effect.die(new Error("gone")) }))
          )
        )
      )
    )
  )

  it.effect("each row has one span, as in a batch that is answered whole", () =>
    Effect.gen(function* () {
      const caller = yield* aCaller({ plan: "custom", quota: 100, concurrency: 5 })
      const run = Effect.scoped(
        Effect.flatMap(
          Effect.flatMap(Bulk, (bulk) => bulk.stream(caller.principal, rowsOf(["a", "", "fail"]))),
          // The span of the batch ends right after its last line.
          (batch) => Effect.andThen(readAll(batch), advance("1 millis"))
        )
      )
      const { spans } = yield* traced(run)
      assert.deepStrictEqual(
        spans.flatMap(({ attributes, name }) => (name === "quarry.row" ? [attributes["quarry.outcome"]] : [])),
        ["ok", "invalid_request", "upstream_error"]
      )
      const [batch] = spans.filter(({ name }) => name === "Bulk.run")
      assert.deepInclude(batch?.attributes, { "quarry.batch.size": 3, "quarry.batch.stream": true })
    }).pipe(Effect.provide(layer))
  )
})

const entry = fc.oneof(
  fc
    .tuple(fc.constantFrom("ok", "slow", "fail", "boom", "never"), fc.nat(5))
    .map(([kind, n]) => `${kind} ${n} ${kind === "slow" ? 200 : 0}`),
  fc.constantFrom<unknown>("", 7, null, { query: "ok", geo: "zz" }, { query: "ok", page: 2 })
)

describe("Bulk.stream accounting", () => {
  it(
    "credits_used = rows charged = log entries = change in used and balance, for any batch and any moment of leaving",
    () =>
      fc.assert(
        fc.asyncProperty(
          fc.array(entry, { minLength: 1, maxLength: 50 }),
          fc.nat(60),
          fc.nat(60),
          fc.option(fc.nat(20_000)),
          async (queries, quota, packs, leavesAfterMs) => {
            const program = Effect.gen(function* () {
              const caller = yield* aCaller({ plan: "custom", quota, concurrency: 10 })
              if (packs > 0) yield* Effect.flatMap(Ledger, (ledger) => ledger.grant(caller.account.id, packs, "test"))
              const bulk = yield* Bulk
              const scope = yield* Scope.make()
              const lines: Array<BulkLineBody> = []
              const started = yield* Effect.result(Scope.provide(bulk.stream(caller.principal, rowsOf(queries)), scope))
              const reader = Result.isSuccess(started)
                ? yield* Effect.forkChild(readAll(started.success, lines))
                : undefined
              if (reader !== undefined && leavesAfterMs !== null) {
                yield* advance(leavesAfterMs)
                yield* Fiber.interrupt(reader)
                yield* Scope.close(scope, Exit.void)
              }
              for (let i = 0; i < 62; i++) yield* advance("1 second")
              const { balance, log, used } = yield* booksOf(caller)
              assert.strictEqual(used + packs - balance, log.length)
              const logged = new Set(log.map(({ id }) => id))
              const served = lines.flatMap((it) => (it.type === "row" && it.body.status === "ok" ? [it.body.id] : []))
              assert.isTrue(served.every((id) => logged.has(id)))
              const summary = lines.at(-1)
              if (summary?.type === "summary") assert.strictEqual(summary.credits_used, log.length)
              else assert.isTrue(Result.isFailure(started) || leavesAfterMs !== null)
              if (Result.isFailure(started)) assert.lengthOf(log, 0)
            })
            await Effect.runPromise(
              program.pipe(Effect.provide(layer), Effect.provide(TestClock.layer()), Effect.scoped)
            )
          }
        ),
        { numRuns: wholeStackRuns }
      ),
    60_000
  )
})
