import { assert, type Vitest } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import type { Account } from "../../../../src/domain/accounts/Account.ts"
import type { Accounts } from "../../../../src/services/accounts/Accounts.ts"
import { QueryLog } from "../../../../src/services/charging/QueryLog.ts"
import { type KeyedRequest, Ledger } from "../../../../src/services/credits/Ledger.ts"
import type { Ids } from "../../../../src/services/Ids.ts"
import { discrepanciesOf, makeAccount, makeRecords } from "../../../support/api/searches.ts"
import { Backdoor } from "../../../support/stores/Backdoor.ts"

const request = (key: string, change: Partial<KeyedRequest> = {}): KeyedRequest => ({
  route: "query",
  key,
  content: "the request",
  ...change
})

const ask = (account: Account, asked: KeyedRequest, credits = 1) =>
  Effect.flatMap(Ledger, (ledger) => ledger.reserveKeyed(account, credits, asked))

/** Reserves, and fails the test where no hold is given. */
const hold = (account: Account, asked: KeyedRequest, credits = 1) =>
  Effect.map(ask(account, asked, credits), (reservation) =>
    reservation._tag === "held" ? reservation.hold : assert.fail(`not held but ${reservation._tag}`)
  )

const charge = Effect.fnUntraced(function* (account: Account, asked: KeyedRequest, text: string) {
  const held = yield* hold(account, asked)
  return yield* (yield* Ledger).settle(held, yield* makeRecords(account, 1), { request: asked, text })
})

const usedOf = (account: Account) =>
  Effect.flatMap(Ledger, (ledger) => Effect.map(ledger.allowance(account), ({ used }) => used))

/** The promises of any ledger to requests with an idempotency key. */
export const idempotencyConformance = (
  it: Vitest.MethodsNonLive<Accounts | Backdoor | Ids | Ledger | QueryLog>
): void => {
  it.effect("R44: the same request again has the first answer, and takes nothing", () =>
    Effect.gen(function* () {
      const account = yield* makeAccount({ plan: "custom", quota: 1 })
      assert.deepStrictEqual(yield* charge(account, request("a"), "an answer with 猫"), { charged: 1, balance: 0 })
      const again = yield* ask(account, request("a"))
      assert.deepInclude(again, { _tag: "answered", text: "an answer with 猫" })
      assert.deepInclude(again._tag === "answered" ? again.allowance : {}, { plan: "custom", quota: 1, used: 1 })
      assert.deepStrictEqual(yield* discrepanciesOf(account), [])
    })
  )

  it.effect("R44: a long answer comes back whole", () =>
    Effect.gen(function* () {
      const account = yield* makeAccount({ plan: "custom", quota: 5 })
      const long = Array.from({ length: 60_000 }, (_, index) => `result ${index}`).join(" ")
      yield* charge(account, request("long"), long)
      assert.deepInclude(yield* ask(account, request("long")), { _tag: "answered", text: long })
    })
  )

  it.effect("R44: while the first request runs, others with its key get no hold", () =>
    Effect.gen(function* () {
      const account = yield* makeAccount({ plan: "custom", quota: 5 })
      const all = yield* Effect.all(
        Array.from({ length: 30 }, () => ask(account, request("a"))),
        { concurrency: "unbounded" }
      )
      assert.lengthOf(
        all.filter(({ _tag }) => _tag === "held"),
        1
      )
      assert.lengthOf(
        all.filter(({ _tag }) => _tag === "running"),
        29
      )
      assert.strictEqual(yield* usedOf(account), 1)
    })
  )

  it.effect("R44: a key belongs to one request of one account and one route", () =>
    Effect.gen(function* () {
      const account = yield* makeAccount({ plan: "custom", quota: 5 })
      const other = yield* makeAccount({ plan: "custom", quota: 5 })
      const held = yield* hold(account, request("a"))
      assert.deepStrictEqual(yield* ask(account, request("a", { content: "another" })), { _tag: "different" })
      yield* (yield* Ledger).settle(held, yield* makeRecords(account, 1), { request: request("a"), text: "it" })
      assert.deepStrictEqual(yield* ask(account, request("a", { content: "another" })), { _tag: "different" })
      yield* hold(account, request("A"))
      yield* hold(account, request("a", { route: "bulk" }))
      yield* hold(other, request("a"))
    })
  )

  it.effect("R44: what was not charged is run again, also as another request", () =>
    Effect.gen(function* () {
      const account = yield* makeAccount({ plan: "custom", quota: 1 })
      const ledger = yield* Ledger
      yield* ledger.settle(yield* hold(account, request("a")), [], { request: request("a"), text: "not charged" })
      yield* ledger.settle(yield* hold(account, request("a", { content: "another" })), [])
      assert.strictEqual((yield* Effect.flip(ask(account, request("a"), 2)))._tag, "quota_exceeded")
      yield* charge(account, request("a"), "the answer")
      assert.deepInclude(yield* ask(account, request("a")), { _tag: "answered", text: "the answer" })
    })
  )

  it.effect("R44, R29: a crash frees the key with its hold, and who comes late with the old hold keeps no answer", () =>
    Effect.gen(function* () {
      const account = yield* makeAccount({ plan: "custom", quota: 1 })
      const ledger = yield* Ledger
      const lost = yield* hold(account, request("a"))
      yield* (yield* Backdoor).expireHolds(account.id)
      assert.strictEqual(yield* ledger.sweep, 1)
      const next = yield* hold(account, request("a"))
      const late = ledger.settle(lost, yield* makeRecords(account, 1), { request: request("a"), text: "late" })
      assert.strictEqual((yield* Effect.flip(late))._tag, "HoldExpired")
      assert.deepStrictEqual(yield* ask(account, request("a")), { _tag: "running" })
      yield* ledger.settle(next, yield* makeRecords(account, 1), { request: request("a"), text: "next" })
      assert.deepInclude(yield* ask(account, request("a")), { _tag: "answered", text: "next" })
      assert.strictEqual(yield* usedOf(account), 1)
    })
  )

  it.effect("R44: a batch with a key is charged by its rows and kept once", () =>
    Effect.gen(function* () {
      const account = yield* makeAccount({ plan: "custom", quota: 5 }, 5)
      const asked = request("a", { route: "bulk" })
      const held = yield* hold(account, asked, 7)
      const settlement = yield* (yield* Ledger).settle(held, yield* makeRecords(account, 6), {
        request: asked,
        text: "rows"
      })
      assert.deepStrictEqual(settlement, { charged: 6, balance: 4 })
      assert.lengthOf(yield* (yield* QueryLog).recent(account.id, 10), 6)
      assert.deepInclude(yield* ask(account, asked, 7), { _tag: "answered", text: "rows" })
    })
  )

  it.effect("R44: a key is kept for 24 hours, also where its account's period ends meanwhile", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.parse("2026-03-31T18:00:00Z"))
      const account = yield* makeAccount({ plan: "custom", quota: 1, cycleStart: Date.parse("2026-03-01T00:00:00Z") })
      yield* charge(account, request("a"), "in March")
      yield* TestClock.setTime(Date.parse("2026-04-01T17:59:59Z"))
      const replayed = yield* ask(account, request("a"))
      assert.deepInclude(replayed, { _tag: "answered", text: "in March" })
      assert.deepInclude(replayed._tag === "answered" ? replayed.allowance : {}, { used: 0 })
      yield* TestClock.setTime(Date.parse("2026-04-01T18:00:00Z"))
      yield* charge(account, request("a"), "in April")
      yield* TestClock.setTime(Date.parse("2026-04-02T17:00:00Z"))
      assert.deepInclude(yield* ask(account, request("a")), { _tag: "answered", text: "in April" })
    })
  )
}
