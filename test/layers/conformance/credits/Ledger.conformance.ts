import { assert, type Vitest } from "@effect/vitest"
import { Effect, Exit, Result } from "effect"
import { TestClock } from "effect/testing"
import type { Account } from "../../../../src/domain/accounts/Account.ts"
import type { Accounts } from "../../../../src/services/accounts/Accounts.ts"
import { QueryLog } from "../../../../src/services/charging/QueryLog.ts"
import { HoldExpired, Ledger } from "../../../../src/services/credits/Ledger.ts"
import type { Ids } from "../../../../src/services/Ids.ts"
import { discrepanciesOf, makeAccount, makeEmail, makeRecord, makeRecords } from "../../../support/api/searches.ts"
import { allowanceOf } from "../../../support/stores/allowances.ts"
import { Backdoor } from "../../../support/stores/Backdoor.ts"

const at = (iso: string) => TestClock.setTime(Date.parse(iso))

const credits = Effect.fnUntraced(function* (account: Account) {
  const { balance, used } = yield* allowanceOf(account)
  return { used, balance }
})

/** What any ledger promises. */
export const ledgerConformance = (it: Vitest.MethodsNonLive<Accounts | Backdoor | Ids | Ledger | QueryLog>): void => {
  it.effect("R30: takes the quota first, then the balance, and splits a batch", () =>
    Effect.gen(function* () {
      const ledger = yield* Ledger
      const account = yield* makeAccount({ plan: "custom", quota: 10 }, 7)
      const first = yield* ledger.reserve(account, 8)
      assert.deepInclude(first, { accountId: account.id, fromQuota: 8, fromBalance: 0 })
      assert.deepInclude(first.before, { plan: "custom", quota: 10, used: 0, balance: 7 })
      const second = yield* ledger.reserve(account, 5)
      assert.deepInclude(second, { fromQuota: 2, fromBalance: 3 })
      assert.deepInclude(second.before, { used: 8, balance: 7 })
      assert.deepStrictEqual(yield* credits(account), { used: 10, balance: 4 })
    })
  )

  it.effect("R29: a request that does not fit takes nothing and says what there is", () =>
    Effect.gen(function* () {
      yield* at("2026-03-10T12:00:00Z")
      const ledger = yield* Ledger
      const account = yield* makeAccount({ plan: "custom", quota: 4 }, 3)
      yield* ledger.reserve(account, 2)
      const refusal = yield* Effect.flip(ledger.reserve(account, 6))
      assert.strictEqual(refusal._tag, "quota_exceeded")
      assert.deepInclude(refusal, {
        plan: "custom",
        quota: 4,
        creditsUsed: 2,
        remaining: 2,
        balance: 3,
        resetsAt: Date.parse("2026-04-01T00:00:00Z")
      })
      assert.deepStrictEqual(yield* credits(account), { used: 2, balance: 3 })
      yield* ledger.reserve(account, 5)
      assert.deepStrictEqual(yield* credits(account), { used: 4, balance: 0 })
    })
  )

  it.effect("R29, I1: concurrent requests take exactly what there is", () =>
    Effect.gen(function* () {
      const ledger = yield* Ledger
      const account = yield* makeAccount({ plan: "trial" }, 30)
      const results = yield* Effect.all(
        Array.from({ length: 200 }, () => Effect.result(ledger.reserve(account, 1))),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(results.filter(Result.isSuccess).length, 130)
      assert.deepStrictEqual(yield* credits(account), { used: 100, balance: 0 })
      const befores = results
        .filter(Result.isSuccess)
        .map(({ success }) => success.before.used + 30 - success.before.balance)
      assert.deepStrictEqual(
        befores.sort((a, b) => a - b),
        Array.from({ length: 130 }, (_, index) => index)
      )
    })
  )

  it.effect("R29: a request too large does not stop a smaller one behind it", () =>
    Effect.gen(function* () {
      const ledger = yield* Ledger
      const account = yield* makeAccount({ plan: "custom", quota: 5 })
      const asked = [3, 4, 2, 1]
      const results = yield* Effect.all(
        asked.map((amount) => Effect.result(ledger.reserve(account, amount))),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(results.map(Result.isSuccess), [true, false, true, false])
    })
  )

  it.effect("accounts in one batch do not touch each other's credits", () =>
    Effect.gen(function* () {
      const ledger = yield* Ledger
      const accounts = yield* Effect.all(
        Array.from({ length: 10 }, (_, index) => makeAccount({ plan: "custom", quota: index }))
      )
      yield* Effect.forEach(
        Array.from({ length: 10 }, () => accounts).flat(),
        (account) => Effect.result(ledger.reserve(account, 1)),
        { concurrency: "unbounded" }
      )
      const used = yield* Effect.forEach(accounts, (account) => Effect.map(credits(account), (is) => is.used))
      assert.deepStrictEqual(used, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    })
  )

  it.effect("R30: gives back pack credits first", () =>
    Effect.gen(function* () {
      const ledger = yield* Ledger
      const account = yield* makeAccount({ plan: "custom", quota: 4 }, 6)
      const hold = yield* ledger.reserve(account, 10)
      assert.deepStrictEqual(yield* ledger.settle(hold, yield* makeRecords(account, 3)), { charged: 3, balance: 6 })
      assert.deepStrictEqual(yield* credits(account), { used: 3, balance: 6 })
      const next = yield* ledger.reserve(account, 7)
      assert.deepStrictEqual(yield* ledger.settle(next, yield* makeRecords(account, 5)), { charged: 5, balance: 2 })
      assert.deepStrictEqual(yield* credits(account), { used: 4, balance: 2 })
    })
  )

  it.effect("R46: a hold is settled in parts, quota before packs, and the rest comes back once, packs first", () =>
    Effect.gen(function* () {
      const ledger = yield* Ledger
      const account = yield* makeAccount({ plan: "custom", quota: 4 }, 6)
      const hold = yield* ledger.reserve(account, 9)
      const records = yield* makeRecords(account, 6)
      yield* Effect.forEach(records, (record) => ledger.settlePart(hold, record), { concurrency: "unbounded" })
      assert.deepStrictEqual(yield* credits(account), { used: 4, balance: 1 }, "the rest is still held")
      assert.deepStrictEqual(yield* discrepanciesOf(account), [])
      assert.deepStrictEqual(yield* ledger.settle(hold, []), { charged: 0, balance: 4 })
      assert.deepStrictEqual(yield* credits(account), { used: 4, balance: 4 })
      const log = yield* Effect.flatMap(QueryLog, (queries) => queries.recent(account.id, 10))
      assert.sameMembers(
        log.map(({ id }) => id),
        records.map(({ id }) => id)
      )
      assert.deepStrictEqual(yield* discrepanciesOf(account), [])
    })
  )

  it.effect("R46, I3: a part of a hold that has ended, or has too little left, charges and logs nothing", () =>
    Effect.gen(function* () {
      const ledger = yield* Ledger
      const account = yield* makeAccount({ plan: "custom", quota: 4 })
      const hold = yield* ledger.reserve(account, 2)
      const [one, two, three, four] = yield* Effect.all([1, 2, 3, 4].map(() => makeRecord(account)))
      assert(one !== undefined && two !== undefined && three !== undefined && four !== undefined)
      yield* ledger.settlePart(hold, one)
      yield* ledger.settlePart(hold, two)
      assert.instanceOf(yield* Effect.flip(ledger.settlePart(hold, three)), HoldExpired)
      yield* ledger.settle(hold, [])
      assert.instanceOf(yield* Effect.flip(ledger.settlePart(hold, four)), HoldExpired)
      assert.deepStrictEqual(yield* credits(account), { used: 2, balance: 0 })
      assert.lengthOf(yield* Effect.flatMap(QueryLog, (queries) => queries.recent(account.id, 10)), 2)
      assert.deepStrictEqual(yield* discrepanciesOf(account), [])
    })
  )

  it.effect("I4, I5: a hold without records is released: nothing charged, nothing logged", () =>
    Effect.gen(function* () {
      const ledger = yield* Ledger
      const account = yield* makeAccount({ plan: "custom", quota: 4 }, 6)
      const hold = yield* ledger.reserve(account, 10)
      assert.deepStrictEqual(yield* ledger.settle(hold, []), { charged: 0, balance: 6 })
      assert.deepStrictEqual(yield* credits(account), { used: 0, balance: 6 })
      assert.deepStrictEqual(yield* (yield* QueryLog).recent(account.id, 10), [])
    })
  )

  it.effect("I2, I5: every record of a charge is in the log, as it was given", () =>
    Effect.gen(function* () {
      const ledger = yield* Ledger
      const account = yield* makeAccount({ plan: "trial" })
      const record = {
        ...(yield* makeRecord(account, 'Schrödinger\'s 猫 \\ "quoted"\t🙂')),
        keyId: "key_1",
        batchId: "bat_1",
        outcome: "upstream_error" as const,
        cached: true,
        provider: undefined
      }
      yield* ledger.settle(yield* ledger.reserve(account, 1), [record])
      const [logged] = yield* (yield* QueryLog).recent(account.id, 10)
      const { at: _, ...entry } = logged ?? { at: 0 }
      assert.deepStrictEqual(entry, record)
      assert.deepStrictEqual(yield* discrepanciesOf(account), [])
    })
  )

  it.effect("I3: settled twice is charged once", () =>
    Effect.gen(function* () {
      const ledger = yield* Ledger
      const account = yield* makeAccount({ plan: "trial" })
      const hold = yield* ledger.reserve(account, 2)
      const records = yield* makeRecords(account, 2)
      yield* ledger.settle(hold, records)
      assert.deepStrictEqual(yield* ledger.settle(hold, records), { charged: 2, balance: 0 })
      assert.deepStrictEqual(yield* credits(account), { used: 2, balance: 0 })
      assert.strictEqual((yield* (yield* QueryLog).recent(account.id, 10)).length, 2)
    })
  )

  it.effect("I3: the same hold settled twice at once ends once", () =>
    Effect.gen(function* () {
      const ledger = yield* Ledger
      const account = yield* makeAccount({ plan: "trial" })
      const hold = yield* ledger.reserve(account, 2)
      const records = yield* makeRecords(account, 2)
      const settle = ledger.settle(hold, records)
      assert.deepStrictEqual(yield* Effect.all([settle, settle], { concurrency: "unbounded" }), [
        { charged: 2, balance: 0 },
        { charged: 2, balance: 0 }
      ])
      assert.strictEqual((yield* (yield* QueryLog).recent(account.id, 10)).length, 2)
      assert.deepStrictEqual(yield* discrepanciesOf(account), [])
    })
  )

  it.effect("charging more than was held is a bug and changes nothing", () =>
    Effect.gen(function* () {
      const ledger = yield* Ledger
      const account = yield* makeAccount({ plan: "trial" })
      const hold = yield* ledger.reserve(account, 1)
      const exit = yield* Effect.exit(ledger.settle(hold, yield* makeRecords(account, 2)))
      assert.isTrue(Exit.isFailure(exit) && Exit.hasDies(exit))
      assert.deepStrictEqual(yield* credits(account), { used: 1, balance: 0 })
    })
  )

  it.effect("R29, I3: an expired hold is given back once and can no longer be settled", () =>
    Effect.gen(function* () {
      const ledger = yield* Ledger
      const backdoor = yield* Backdoor
      const account = yield* makeAccount({ plan: "custom", quota: 4 }, 6)
      yield* ledger.sweep
      const expired = yield* ledger.reserve(account, 7)
      yield* backdoor.expireHolds(account.id)
      const live = yield* ledger.reserve(account, 1)
      assert.strictEqual(yield* ledger.sweep, 1)
      assert.strictEqual(yield* ledger.sweep, 0)
      assert.deepStrictEqual(yield* credits(account), { used: 0, balance: 5 })
      const refusal = yield* Effect.flip(ledger.settle(expired, yield* makeRecords(account, 7)))
      assert.deepStrictEqual(refusal, new HoldExpired({ holdId: expired.id }))
      assert.deepStrictEqual(yield* (yield* QueryLog).recent(account.id, 10), [])
      yield* ledger.settle(live, yield* makeRecords(account, 1))
      assert.deepStrictEqual(yield* discrepanciesOf(account), [])
    })
  )

  it.effect("R31: cycles renew on the subscription's day, clamped to the month's last", () =>
    Effect.gen(function* () {
      const ledger = yield* Ledger
      yield* at("2027-01-31T10:30:00Z")
      const account = yield* makeAccount({ plan: "starter", cycleStart: Date.parse("2027-01-31T10:30:00Z") })
      const period = Effect.map(allowanceOf(account), ({ periodStart, resetsAt, used }) => [
        new Date(periodStart ?? 0).toISOString(),
        new Date(resetsAt ?? 0).toISOString(),
        used
      ])
      yield* ledger.reserve(account, 5)
      assert.deepStrictEqual(yield* period, ["2027-01-31T10:30:00.000Z", "2027-02-28T10:30:00.000Z", 5])
      yield* at("2027-02-28T10:29:59.999Z")
      yield* ledger.reserve(account, 1)
      assert.deepStrictEqual(yield* period, ["2027-01-31T10:30:00.000Z", "2027-02-28T10:30:00.000Z", 6])
      yield* at("2027-02-28T10:30:00Z")
      yield* ledger.reserve(account, 2)
      assert.deepStrictEqual(yield* period, ["2027-02-28T10:30:00.000Z", "2027-03-31T10:30:00.000Z", 2])
      yield* at("2028-02-29T10:30:00Z")
      assert.deepStrictEqual(yield* period, ["2028-02-29T10:30:00.000Z", "2028-03-31T10:30:00.000Z", 0])
    })
  )

  it.effect("R31: requests that arrive together at a renewal open one period and all fit", () =>
    Effect.gen(function* () {
      const ledger = yield* Ledger
      yield* at("2027-04-30T23:59:59Z")
      const account = yield* makeAccount({ plan: "custom", quota: 40 })
      yield* ledger.reserve(account, 40)
      yield* at("2027-05-01T00:00:00Z")
      const results = yield* Effect.all(
        Array.from({ length: 50 }, () => Effect.result(ledger.reserve(account, 1))),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(results.filter(Result.isSuccess).length, 40)
      assert.deepStrictEqual(yield* credits(account), { used: 40, balance: 0 })
    })
  )

  it.effect("R31: a hold taken before a renewal is charged to the period it was taken in", () =>
    Effect.gen(function* () {
      const ledger = yield* Ledger
      yield* at("2027-06-30T23:59:59Z")
      const account = yield* makeAccount({ plan: "custom", quota: 10 }, 5)
      const hold = yield* ledger.reserve(account, 12)
      yield* at("2027-07-01T00:00:01Z")
      yield* ledger.settle(hold, yield* makeRecords(account, 11))
      assert.deepStrictEqual(yield* credits(account), { used: 0, balance: 4 })
      assert.deepStrictEqual(yield* discrepanciesOf(account), [])
    })
  )

  it.effect("the trial has one quota for life and no period", () =>
    Effect.gen(function* () {
      const ledger = yield* Ledger
      yield* at("2027-08-01T00:00:00Z")
      const account = yield* makeAccount({ plan: "trial" })
      yield* ledger.reserve(account, 60)
      yield* at("2029-08-01T00:00:00Z")
      const allowance = yield* allowanceOf(account)
      assert.deepInclude(allowance, { quota: 100, used: 60, periodStart: undefined, resetsAt: undefined })
      const refusal = yield* Effect.flip(ledger.reserve(account, 41))
      assert.deepInclude(refusal, { resetsAt: null })
    })
  )

  it.effect("a grant with an idempotency key is given once, and answers the same again", () =>
    Effect.gen(function* () {
      const ledger = yield* Ledger
      const key = yield* makeEmail
      const [account, other] = [yield* makeAccount({ plan: "starter" }, 1), yield* makeAccount({ plan: "starter" }, 1)]
      const grant = (accountId: string, credits: number, reason: string) =>
        ledger.grant(accountId, credits, reason, key)
      const answers = yield* Effect.all(
        Array.from({ length: 8 }, () => grant(account.id, 10, "order")),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(new Set(answers), new Set([11]))
      yield* ledger.grant(account.id, 5, "another order", `${key}!`)
      yield* ledger.grant(account.id, 5, "without a key")
      assert.strictEqual(yield* grant(account.id, 10, "order"), 11)
      assert.strictEqual((yield* ledger.allowance(account)).balance, 21)
      for (const different of [
        grant(account.id, 9, "order"),
        grant(account.id, 10, "another"),
        grant(other.id, 10, "order")
      ]) {
        const error = yield* Effect.flip(different)
        assert.deepStrictEqual([error._tag, error.message.includes(key)], ["GrantDiffers", true])
      }
      assert.strictEqual((yield* Effect.flip(grant("acc_none", 10, "order")))._tag, "not_found")
      assert.strictEqual((yield* ledger.allowance(other)).balance, 1)
      assert.deepStrictEqual(yield* discrepanciesOf(account), [])
    })
  )

  it.effect("grants add to the balance; an unknown account is not found", () =>
    Effect.gen(function* () {
      const ledger = yield* Ledger
      const account = yield* makeAccount({ plan: "trial" })
      assert.strictEqual(yield* ledger.grant(account.id, 10_000, "a pack"), 10_000)
      assert.strictEqual(yield* ledger.grant(account.id, 5_000_000_000, "a very large one"), 5_000_010_000)
      assert.strictEqual((yield* Effect.flip(ledger.grant("acc_none", 1, "nothing")))._tag, "not_found")
      const hold = yield* ledger.reserve(account, 4_000_000_000)
      assert.deepStrictEqual(yield* ledger.settle(hold, []), { charged: 0, balance: 5_000_010_000 })
    })
  )

  const by = { reason: "ticket 7", by: "ann" }

  it.effect("I1, I6: an adjustment changes balance or quota in both directions, and the books agree after it", () =>
    Effect.gen(function* () {
      const ledger = yield* Ledger
      const account = yield* makeAccount({ plan: "custom", quota: 10 }, 5)
      yield* ledger.settle(yield* ledger.reserve(account, 4), yield* makeRecords(account, 4))
      const adjust = Effect.fnUntraced(function* (to: "balance" | "quota", change: number) {
        const { balance, used } = yield* ledger.adjust({ accountId: account.id, credits: change, to, ...by })
        assert.deepStrictEqual(yield* credits(account), { used, balance })
        assert.deepStrictEqual(yield* discrepanciesOf(account), [])
        return { used, balance }
      })
      assert.deepStrictEqual(yield* adjust("balance", 3), { used: 4, balance: 8 })
      assert.deepStrictEqual(yield* adjust("balance", -8), { used: 4, balance: 0 })
      assert.deepStrictEqual(yield* adjust("quota", 3), { used: 1, balance: 0 })
      assert.deepStrictEqual(yield* adjust("quota", -9), { used: 10, balance: 0 })
    })
  )

  it.effect("I1: an adjustment that the account has no credits for is refused, and nothing changes", () =>
    Effect.gen(function* () {
      const ledger = yield* Ledger
      const account = yield* makeAccount({ plan: "custom", quota: 10 }, 5)
      yield* ledger.settle(yield* ledger.reserve(account, 2), yield* makeRecords(account, 2))
      const hold = yield* ledger.reserve(account, 3)
      const refusal = (to: "balance" | "quota", change: number) =>
        Effect.map(Effect.flip(ledger.adjust({ accountId: account.id, credits: change, to, ...by })), ({ message }) =>
          message.replace(account.id, "A")
        )
      assert.strictEqual(
        yield* refusal("balance", -6),
        "The pack balance of account A is only 5, so 6 credits cannot be taken from it. Take 5 or less."
      )
      assert.strictEqual(
        yield* refusal("quota", 3),
        "Account A has used 2 of its quota in this period (3 more are held), so 3 cannot be given back. Use --to balance for the rest."
      )
      assert.strictEqual(
        yield* refusal("quota", -6),
        "Account A has 5 left of its quota, so 6 cannot be taken from it. Use --to balance for the rest."
      )
      assert.deepStrictEqual(yield* credits(account), { used: 5, balance: 5 })
      assert.strictEqual(
        (yield* Effect.flip(ledger.adjust({ accountId: "acc_none", credits: 1, to: "balance", ...by })))._tag,
        "not_found"
      )
      yield* ledger.settle(hold, [])
      assert.deepStrictEqual(yield* credits(account), { used: 2, balance: 5 })
    })
  )

  it.effect("an adjustment of the quota is of the present period", () =>
    Effect.gen(function* () {
      const ledger = yield* Ledger
      yield* at("2027-09-30T23:00:00Z")
      const account = yield* makeAccount({ plan: "custom", quota: 10 })
      yield* ledger.settle(yield* ledger.reserve(account, 4), yield* makeRecords(account, 4))
      yield* at("2027-10-01T00:00:00Z")
      const after = yield* ledger.adjust({ accountId: account.id, credits: -1, to: "quota", ...by })
      assert.deepInclude(after, { used: 1, periodStart: Date.parse("2027-10-01T00:00:00Z") })
      assert.deepStrictEqual(yield* discrepanciesOf(account), [])
    })
  )

  it.effect.each(["allowance", "balance", "owed", "log"] as const)("verify finds a changed %s", (what) =>
    Effect.gen(function* () {
      const ledger = yield* Ledger
      const account = yield* makeAccount({ plan: "custom", quota: 10 }, 5)
      const hold = yield* ledger.reserve(account, 12)
      yield* ledger.settle(hold, yield* makeRecords(account, 2))
      yield* ledger.reserve(account, 7)
      assert.deepStrictEqual(yield* discrepanciesOf(account), [])
      yield* (yield* Backdoor).damage(account.id, what)
      const expected = {
        allowance: { what: "credits used of the quota", expected: 9, found: 10 },
        balance: { what: "pack balance", expected: 5, found: 6 },
        owed: { what: "credits owed", expected: 0, found: 1 },
        log: { what: "credits in the query log", expected: 2, found: 1 }
      }
      assert.deepStrictEqual(yield* discrepanciesOf(account), [{ accountId: account.id, ...expected[what] }])
    })
  )

  it.effect.each([
    ["allowance", "entries", { used: 9, balance: 5 }],
    ["allowance", "figures", { used: 10, balance: 5 }],
    ["balance", "entries", { used: 9, balance: 5 }],
    ["balance", "figures", { used: 9, balance: 6 }],
    ["owed", "entries", { used: 9, balance: 5 }],
    ["owed", "figures", { used: 9, balance: 5 }],
    ["log", "entries", { used: 9, balance: 5 }],
    ["log", "figures", { used: 9, balance: 5 }]
  ] as const)("a repair of a changed %s that keeps the %s makes the books agree", ([what, keep, after]) =>
    Effect.gen(function* () {
      const ledger = yield* Ledger
      const account = yield* makeAccount({ plan: "custom", quota: 10 }, 5)
      yield* ledger.settle(yield* ledger.reserve(account, 12), yield* makeRecords(account, 2))
      const hold = yield* ledger.reserve(account, 7)
      yield* (yield* Backdoor).damage(account.id, what)
      const found = yield* discrepanciesOf(account)
      assert.strictEqual(found.length, 1)
      assert.deepStrictEqual(yield* ledger.repair({ accountId: account.id, keep, ...by }), found)
      assert.deepStrictEqual(yield* credits(account), after)
      assert.deepStrictEqual(yield* discrepanciesOf(account), [])
      assert.deepStrictEqual(yield* ledger.repair({ accountId: account.id, keep, ...by }), [])
      yield* ledger.settle(hold, yield* makeRecords(account, 1))
      assert.deepStrictEqual(yield* discrepanciesOf(account), [])
    })
  )

  it.effect("a repair of an unknown account is not found", () =>
    Effect.gen(function* () {
      const repair = (yield* Ledger).repair({ accountId: "acc_none", keep: "entries", ...by })
      assert.strictEqual((yield* Effect.flip(repair))._tag, "not_found")
    })
  )
}
