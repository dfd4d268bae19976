import { assert, type Vitest } from "@effect/vitest"
import { Effect, Result } from "effect"
import { TestClock } from "effect/testing"
import type { Account } from "../../../../src/domain/accounts/Account.ts"
import { boundsOf } from "../../../../src/domain/accounts/Principal.ts"
import { describeBudget } from "../../../../src/domain/credits/Budget.ts"
import type { BoundsChange } from "../../../../src/domain/keys/KeyBounds.ts"
import { Accounts } from "../../../../src/services/accounts/Accounts.ts"
import type { QueryLog } from "../../../../src/services/charging/QueryLog.ts"
import { Ledger } from "../../../../src/services/credits/Ledger.ts"
import type { Ids } from "../../../../src/services/Ids.ts"
import { type IssuedKey, KeyStore, maxGraces } from "../../../../src/services/keys/KeyStore.ts"
import { discrepanciesOf, makeAccount, makeRecords } from "../../../support/api/searches.ts"
import { Backdoor } from "../../../support/stores/Backdoor.ts"

const at = (iso: string) => TestClock.setTime(Date.parse(iso))

const makeKey = (account: Account, bounds?: BoundsChange) =>
  Effect.flatMap(KeyStore, (keys) => keys.create(account.id, { label: "CI", mode: "live", bounds }))

/** Reserves with the key as a search does: the budget comes from authentication. */
const reserve = Effect.fnUntraced(function* ({ secret }: IssuedKey, credits = 1) {
  const principal = yield* (yield* KeyStore).authenticate(secret)
  return yield* (yield* Ledger).reserve(principal.account, credits, boundsOf(principal)?.budgets)
})

const readKey = Effect.fnUntraced(function* ({ key }: IssuedKey) {
  const all = yield* (yield* KeyStore).list(key.accountId)
  return all.find(({ id }) => id === key.id) ?? assert.fail(`key ${key.id} is not listed`)
})

const spentOf = (key: IssuedKey) => Effect.map(readKey(key), ({ spending }) => spending?.credits)

const usedOf = (account: Account) =>
  Effect.flatMap(Ledger, (ledger) => Effect.map(ledger.allowance(account), ({ used }) => used))

const opens = ({ secret }: IssuedKey) =>
  Effect.flatMap(KeyStore, (keys) => Effect.map(Effect.result(keys.authenticate(secret)), Result.isSuccess))

type Promises = Vitest.MethodsNonLive<Accounts | Backdoor | Ids | KeyStore | Ledger | QueryLog>

/** The promises of any store of keys and any ledger to keys with bounds. */
export const keyBoundsConformance = (it: Promises): void => {
  budgets(it)
  changes(it)
  rotations(it)
}

const budgets = (it: Promises): void => {
  it.effect("R50: a budget covers its credits and no more, and the error names it with the account's figures", () =>
    Effect.gen(function* () {
      yield* at("2026-03-10T12:00:00Z")
      const account = yield* makeAccount({ plan: "custom", quota: 100 }, 7)
      const budget = { credits: 3, period: "day" } as const
      const key = yield* makeKey(account, { budget })
      yield* reserve(key, 2)
      const error = yield* Effect.flip(reserve(key, 2))
      assert.deepInclude(error, {
        _tag: "quota_exceeded",
        plan: "custom",
        quota: 100,
        creditsUsed: 2,
        remaining: 98,
        balance: 7,
        resetsAt: Date.parse("2026-04-01T00:00:00Z")
      })
      assert.include(error.message, `this API key's budget (${describeBudget(budget)}) has 1 left`)
      yield* reserve(key, 1)
      assert.strictEqual(yield* usedOf(account), 3)
      assert.deepInclude((yield* readKey(key)).spending, { credits: 3, resetsAt: Date.parse("2026-03-11T00:00:00Z") })
      yield* reserve(yield* makeKey(account), 5)
    })
  )

  it.effect("R50, I1: concurrent requests take exactly the budget, and the account pays no more than that", () =>
    Effect.gen(function* () {
      const account = yield* makeAccount({ plan: "custom", quota: 1_000 })
      const [key, other] = [
        yield* makeKey(account, { budget: { credits: 30, period: "life" } }),
        yield* makeKey(account, { budget: { credits: 10, period: "month" } })
      ]
      const results = yield* Effect.all(
        Array.from({ length: 120 }, (_, n) => Effect.result(reserve(n % 2 === 0 ? key : other))),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(results.filter(Result.isSuccess).length, 40)
      assert.deepStrictEqual([yield* spentOf(key), yield* spentOf(other)], [30, 10])
      assert.strictEqual(yield* usedOf(account), 40)
    })
  )

  it.effect("R50: a request that the account cannot pay takes nothing of the budget, and leaves room for others", () =>
    Effect.gen(function* () {
      const account = yield* makeAccount({ plan: "custom", quota: 4 })
      const key = yield* makeKey(account, { budget: { credits: 10, period: "day" } })
      const results = yield* Effect.all(
        [10, 5, 4].map((credits) => Effect.result(reserve(key, credits))),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(results.map(Result.isSuccess), [false, false, true])
      assert.strictEqual(yield* spentOf(key), 4)
    })
  )

  it.effect("R50: what is not charged comes back to the budget, by settlement and by the sweeper", () =>
    Effect.gen(function* () {
      const ledger = yield* Ledger
      const account = yield* makeAccount({ plan: "custom", quota: 4 }, 6)
      const key = yield* makeKey(account, { budget: { credits: 9, period: "life" } })
      const hold = yield* reserve(key, 9)
      assert.strictEqual(yield* spentOf(key), 9)
      yield* ledger.settle(hold, yield* makeRecords(account, 3))
      assert.strictEqual(yield* spentOf(key), 3)
      const streamed = yield* reserve(key, 4)
      for (const record of yield* makeRecords(account, 2)) yield* ledger.settlePart(streamed, record)
      assert.strictEqual(yield* spentOf(key), 7)
      yield* ledger.settle(streamed, [])
      assert.strictEqual(yield* spentOf(key), 5)
      yield* reserve(key, 4)
      yield* (yield* Backdoor).expireHolds(account.id)
      yield* ledger.sweep
      assert.strictEqual(yield* spentOf(key), 5)
      assert.deepStrictEqual(yield* discrepanciesOf(account), [])
    })
  )

  it.effect("R50: days and months begin at midnight UTC, and what is held over it comes back to its own period", () =>
    Effect.gen(function* () {
      const ledger = yield* Ledger
      yield* at("2028-02-29T23:59:59.999Z")
      const account = yield* makeAccount({ plan: "custom", quota: 100 })
      const key = yield* makeKey(account, { budget: { credits: 2, period: "day" } })
      const monthly = yield* makeKey(account, { budget: { credits: 2, period: "month" } })
      const late = yield* reserve(key, 2)
      yield* reserve(monthly, 2)
      yield* Effect.flip(reserve(key))
      yield* at("2028-03-01T00:00:00Z")
      yield* reserve(key, 2)
      yield* reserve(monthly, 1)
      yield* ledger.settle(late, [])
      assert.deepStrictEqual([yield* spentOf(key), yield* spentOf(monthly)], [2, 1])
      yield* at("2028-03-31T23:59:59.999Z")
      yield* reserve(key, 2)
      yield* reserve(monthly, 1)
      yield* Effect.flip(reserve(monthly))
      yield* at("2028-04-01T00:00:00Z")
      yield* reserve(monthly, 2)
      assert.strictEqual((yield* readKey(monthly)).spending?.resetsAt, Date.parse("2028-05-01T00:00:00Z"))
    })
  )

  it.effect("R44, R50: a spent budget stops a new request, but not the replay of a charged one", () =>
    Effect.gen(function* () {
      const ledger = yield* Ledger
      const account = yield* makeAccount({ plan: "custom", quota: 10 })
      const { key } = yield* makeKey(account, { budget: { credits: 1, period: "life" } })
      const first = { route: "query", key: "a", content: "a" } as const
      const asked = yield* ledger.reserveKeyed(account, 1, first, { own: key.id })
      const hold = asked._tag === "held" ? asked.hold : assert.fail(asked._tag)
      yield* ledger.settle(hold, yield* makeRecords(account, 1), { request: first, text: "answer" })
      const again = yield* ledger.reserveKeyed(account, 1, first, { own: key.id })
      assert.deepInclude(again, { _tag: "answered", text: "answer" })
      const second = { ...first, key: "b" }
      const error = yield* Effect.flip(ledger.reserveKeyed(account, 1, second, { own: key.id }))
      assert.include(error.message, "this API key's budget")
      // The key of a request that was not charged is free.
      assert.strictEqual((yield* ledger.reserveKeyed(account, 1, second))._tag, "held")
    })
  )
}

const changes = (it: Promises): void => {
  it.effect("R50: bounds are shown as they were given, changed one by one, and removed by null", () =>
    Effect.gen(function* () {
      yield* at("2026-03-10T12:00:00Z")
      const keys = yield* KeyStore
      const account = yield* makeAccount({ plan: "starter" })
      const bounds = {
        expiresAt: Date.parse("2026-04-01T00:00:00Z"),
        budget: { credits: 5, period: "month" },
        targets: ["beta_search"],
        networks: ["10.0.0.0/8"]
      } as const
      const issued = yield* makeKey(account, bounds)
      assert.deepStrictEqual(issued.key.bounds, bounds)
      const changed = yield* keys.bindOwn(account.id, issued.key.id, { targets: null, networks: ["2001:db8::/32"] })
      assert.deepStrictEqual(changed.bounds, { ...bounds, targets: undefined, networks: ["2001:db8::/32"] })
      assert.deepStrictEqual(yield* keys.bind(issued.key.id, {}), changed)
      assert.deepStrictEqual(yield* readKey(issued), { ...changed, lastUsedAt: undefined })
      const free = yield* keys.bind(issued.key.id, { expiresAt: null, budget: null, networks: null })
      assert.deepStrictEqual(free.bounds, {
        expiresAt: undefined,
        budget: undefined,
        targets: undefined,
        networks: undefined
      })
      assert.isUndefined(free.spending)
      assert.isUndefined((yield* keys.authenticate(issued.secret)).key.bounds)
    })
  )

  it.effect("R50: a changed budget keeps what was spent in its period, even if it was removed meanwhile", () =>
    Effect.gen(function* () {
      const keys = yield* KeyStore
      const account = yield* makeAccount({ plan: "starter" })
      const key = yield* makeKey(account, { budget: { credits: 5, period: "day" } })
      yield* reserve(key, 4)
      yield* keys.bind(key.key.id, { budget: { credits: 2, period: "day" } })
      assert.include((yield* Effect.flip(reserve(key))).message, "has 0 left")
      yield* keys.bind(key.key.id, { budget: null })
      yield* reserve(key, 3)
      yield* keys.bind(key.key.id, { budget: { credits: 6, period: "day" } })
      assert.strictEqual(yield* spentOf(key), 4)
      yield* reserve(key, 2)
      yield* Effect.flip(reserve(key))
    })
  )

  it.effect("R50: a key works until it expires, to the millisecond, and can be given more time", () =>
    Effect.gen(function* () {
      yield* at("2026-03-10T12:00:00Z")
      const keys = yield* KeyStore
      const account = yield* makeAccount({ plan: "starter" })
      const expiresAt = Date.parse("2026-03-10T12:01:00Z")
      const key = yield* makeKey(account, { expiresAt })
      yield* at("2026-03-10T12:00:59.999Z")
      assert.isTrue(yield* opens(key))
      yield* at("2026-03-10T12:01:00Z")
      assert.isFalse(yield* opens(key))
      const error = yield* Effect.flip(keys.bind(key.key.id, { expiresAt }))
      const issue = { field: "expires_at", message: "must be in the future; revoke the key to end it now" }
      assert.deepInclude(error, { _tag: "invalid_request", issues: [issue] })
      assert.strictEqual((yield* Effect.flip(makeKey(account, { expiresAt })))._tag, "invalid_request")
      yield* keys.bind(key.key.id, { expiresAt: expiresAt + 1 })
      assert.isTrue(yield* opens(key))
    })
  )

  it.effect("R50: only an active key of one's own can be bound", () =>
    Effect.gen(function* () {
      const keys = yield* KeyStore
      const [account, other] = [yield* makeAccount({ plan: "starter" }), yield* makeAccount({ plan: "starter" })]
      const { key } = yield* makeKey(account)
      const missing = yield* Effect.flip(keys.bindOwn(other.id, "key_none", {}))
      assert.strictEqual(missing._tag, "not_found")
      assert.deepStrictEqual(yield* Effect.flip(keys.bindOwn(other.id, key.id, {})), missing)
      assert.strictEqual((yield* Effect.flip(keys.bind("key_\0", {})))._tag, "not_found")
      yield* keys.revoke(key.id)
      assert.deepStrictEqual(yield* Effect.flip(keys.bindOwn(account.id, key.id, {})), missing)
    })
  )

  it.effect("the bounds of a removed account's keys are gone", () =>
    Effect.gen(function* () {
      const account = yield* makeAccount({ plan: "starter" })
      const key = yield* makeKey(account, { networks: ["10.0.0.0/8"] })
      yield* (yield* Accounts).remove(account.id)
      assert.isUndefined((yield* readKey(key)).bounds.networks)
    })
  )
}

const rotations = (it: Promises): void => {
  it.effect("R51: the old secret works until its grace ends; bounds and what was spent are those of both", () =>
    Effect.gen(function* () {
      yield* at("2026-03-10T12:00:00Z")
      const keys = yield* KeyStore
      const account = yield* makeAccount({ plan: "starter" })
      const budget = { credits: 5, period: "life" } as const
      const old = yield* makeKey(account, { budget, targets: ["beta_search"] })
      yield* reserve(old, 2)
      const issued = yield* keys.rotateOwn(account.id, old.key.id, 3_600)
      assert.deepInclude(issued.key, { bounds: { ...old.key.bounds }, spending: { credits: 2, resetsAt: undefined } })
      assert.strictEqual((yield* readKey(old)).revokedAt, Date.parse("2026-03-10T13:00:00Z"))
      yield* reserve(old, 1)
      yield* reserve(issued, 1)
      assert.deepStrictEqual([yield* spentOf(old), yield* spentOf(issued)], [4, 4])
      yield* Effect.flip(reserve(old, 2))
      yield* keys.bind(issued.key.id, { targets: ["gamma_search"] })
      assert.deepStrictEqual(boundsOf(yield* keys.authenticate(old.secret))?.targets, ["gamma_search"])
      yield* at("2026-03-10T12:59:59.999Z")
      assert.isTrue(yield* opens(old))
      yield* at("2026-03-10T13:00:00Z")
      assert.isFalse(yield* opens(old))
      assert.isTrue(yield* opens(issued))
    })
  )

  it.effect("R51: without a grace the old secret ends at once, and an expiry ends the new one too", () =>
    Effect.gen(function* () {
      yield* at("2026-03-10T12:00:00Z")
      const keys = yield* KeyStore
      const account = yield* makeAccount({ plan: "starter" })
      const old = yield* makeKey(account, { expiresAt: Date.parse("2026-03-10T13:00:00Z") })
      yield* keys.authenticate(old.secret)
      const issued = yield* keys.rotate(old.key.id)
      assert.isFalse(yield* opens(old))
      const last = yield* keys.rotate(issued.key.id, 86_400)
      assert.deepStrictEqual([yield* opens(issued), yield* opens(last)], [true, true])
      yield* at("2026-03-10T13:00:00Z")
      assert.deepStrictEqual([yield* opens(issued), yield* opens(last)], [false, false])
    })
  )

  it.effect("R51: after another rotation each old secret keeps its own grace, up to the limit of secrets", () =>
    Effect.gen(function* () {
      yield* at("2026-03-10T12:00:00Z")
      const keys = yield* KeyStore
      const account = yield* makeAccount({ plan: "starter" })
      const secrets = [yield* makeKey(account)]
      const newest = () => secrets.at(-1)?.key.id ?? ""
      for (let n = 1; n <= maxGraces; n++) secrets.push(yield* keys.rotate(newest(), n * 60))
      for (const it of secrets) assert.isTrue(yield* opens(it))
      assert.deepInclude(yield* Effect.flip(keys.rotate(newest(), 60)), { _tag: "invalid_request" })
      assert.strictEqual((yield* Effect.flip(keys.rotate(secrets[0]?.key.id ?? "")))._tag, "not_found")
      yield* at("2026-03-10T12:01:00Z")
      secrets.push(yield* keys.rotate(newest(), 60))
      const open: Array<boolean> = []
      for (const it of secrets) open.push(yield* opens(it))
      assert.deepStrictEqual(open, [false, true, true, true, true, true])
    })
  )

  it.effect(
    "R51: revoking a key ends its secrets in grace at once, and a secret in grace can be revoked separately",
    () =>
      Effect.gen(function* () {
        const keys = yield* KeyStore
        const account = yield* makeAccount({ plan: "starter" })
        const first = yield* makeKey(account)
        const second = yield* keys.rotate(first.key.id, 3_600)
        const third = yield* keys.rotate(second.key.id, 3_600)
        const other = yield* makeKey(account)
        const all = [first, second, third, other]
        const open = Effect.forEach(all, opens)
        assert.deepStrictEqual(yield* open, [true, true, true, true])
        yield* keys.revokeOwn(account.id, second.key.id)
        assert.deepStrictEqual(yield* open, [true, false, true, true])
        yield* keys.revokeOwn(account.id, third.key.id)
        assert.deepStrictEqual(yield* open, [false, false, false, true])
        const last = yield* keys.rotate(other.key.id, 3_600)
        assert.lengthOf(yield* keys.revokeAll(account.id), 2)
        assert.deepStrictEqual([yield* opens(other), yield* opens(last)], [false, false])
      })
  )
}
