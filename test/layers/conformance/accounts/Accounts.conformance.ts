import { assert, type Vitest } from "@effect/vitest"
import { Clock, Effect, Redacted, Result } from "effect"
import { TestClock } from "effect/testing"
import type { Plan } from "../../../../src/domain/credits/Plan.ts"
import { Accounts } from "../../../../src/services/accounts/Accounts.ts"
import { Ledger } from "../../../../src/services/credits/Ledger.ts"
import type { Ids } from "../../../../src/services/Ids.ts"
import { KeyStore } from "../../../../src/services/keys/KeyStore.ts"
import { discrepanciesOf, makeAccount, makeEmail, makeRecords } from "../../../support/api/searches.ts"
import { Backdoor } from "../../../support/stores/Backdoor.ts"

const cycleStart = Date.parse("2026-01-31T08:00:00Z")

/** What any store of accounts promises. */
export const accountsConformance = (it: Vitest.MethodsNonLive<Accounts | Backdoor | Ids | KeyStore | Ledger>): void => {
  it.effect("an account is found by its id and by its address in any letter case", () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const email = yield* makeEmail
      const account = yield* accounts.create({ email: `  ${email.toUpperCase()} `, plan: "growth", cycleStart })
      assert.match(account.id, /^acc_[0-9a-f]{32}$/)
      assert.deepInclude(account, { email, plan: "growth", quota: 75_000, concurrency: 5, cycleStart })
      assert.deepStrictEqual(yield* accounts.byId(account.id), account)
      assert.deepStrictEqual(yield* accounts.byEmail(email.toUpperCase()), account)
      assert.strictEqual((yield* Effect.flip(accounts.byId("acc_none")))._tag, "not_found")
      assert.strictEqual((yield* Effect.flip(accounts.byEmail("")))._tag, "not_found")
    })
  )

  it.effect("an address has one account, however many are asked for at once", () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const email = yield* makeEmail
      const results = yield* Effect.all(
        Array.from({ length: 8 }, () => Effect.result(accounts.create({ email, plan: "trial" }))),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(results.filter(Result.isSuccess).length, 1)
      for (const { failure } of results.filter(Result.isFailure)) assert.strictEqual(failure._tag, "AccountError")
    })
  )

  it.effect("accounts without an address do not stand in each other's way, but get no trial", () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      yield* accounts.create({ email: "", plan: "starter" })
      const account = yield* accounts.create({ email: " ", plan: "starter" })
      assert.strictEqual((yield* Effect.flip(accounts.create({ email: "", plan: "trial" })))._tag, "AccountError")
      const refusal = yield* Effect.flip(accounts.setPlan(account.id, { plan: "trial" }))
      assert.strictEqual(refusal._tag, "AccountError")
      assert.strictEqual((yield* accounts.byId(account.id)).plan, "starter")
    })
  )

  it.effect("a custom plan needs a quota, and figures must be possible", () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const email = yield* makeEmail
      const refusal = yield* Effect.flip(accounts.create({ email, plan: "custom" }))
      assert.include(refusal.message, "quota")
      yield* Effect.flip(accounts.create({ email, plan: "custom", quota: -1 }))
      yield* Effect.flip(accounts.create({ email, plan: "custom", quota: 1.5 }))
      yield* Effect.flip(accounts.create({ email, plan: "starter", concurrency: 0 }))
      const account = yield* accounts.create({ email, plan: "custom", quota: 5_000_000_000, concurrency: 50 })
      assert.deepInclude(account, { quota: 5_000_000_000, concurrency: 50, cycleStart: undefined })
    })
  )

  it.effect("R32: the trial grant is the address's, also after its account was deleted", () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const ledger = yield* Ledger
      const email = yield* makeEmail
      const first = yield* accounts.create({ email, plan: "trial" })
      const hold = yield* ledger.reserve(first, 70)
      yield* ledger.settle(hold, yield* makeRecords(first, 70))
      yield* (yield* Backdoor).deleteAccount(first.id)
      const second = yield* accounts.create({ email: email.toUpperCase(), plan: "trial" })
      assert.notStrictEqual(second.id, first.id)
      assert.deepInclude(yield* ledger.allowance(second), { quota: 100, used: 70 })
      yield* ledger.reserve(second, 30)
      assert.strictEqual((yield* Effect.flip(ledger.reserve(second, 1)))._tag, "quota_exceeded")
    })
  )

  it.effect("R31: a plan change inside a cycle keeps what was used", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.parse("2026-02-10T00:00:00Z"))
      const accounts = yield* Accounts
      const ledger = yield* Ledger
      const account = yield* makeAccount({ plan: "growth", cycleStart })
      yield* ledger.reserve(account, 6_000)
      const changed = yield* accounts.setPlan(account.id, { plan: "business" })
      assert.deepStrictEqual(changed, { ...account, plan: "business", quota: 200_000, concurrency: 10 })
      assert.deepStrictEqual(yield* accounts.byId(account.id), changed)
      assert.deepInclude(yield* ledger.allowance(changed), {
        plan: "business",
        quota: 200_000,
        used: 6_000,
        periodStart: cycleStart,
        resetsAt: Date.parse("2026-02-28T08:00:00Z")
      })
    })
  )

  it.effect("R31, I1: a smaller plan's quota is not below what is used, until the next cycle", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.parse("2026-02-10T00:00:00Z"))
      const accounts = yield* Accounts
      const ledger = yield* Ledger
      const account = yield* makeAccount({ plan: "growth", cycleStart }, 10)
      yield* ledger.reserve(account, 6_000)
      const changed = yield* accounts.setPlan(account.id, { plan: "starter", cycleStart })
      assert.deepInclude(yield* ledger.allowance(changed), { quota: 6_000, used: 6_000, balance: 10 })
      assert.deepInclude(yield* ledger.reserve(changed, 1), { fromQuota: 0, fromBalance: 1 })
      yield* TestClock.setTime(Date.parse("2026-03-01T00:00:00Z"))
      assert.deepInclude(yield* ledger.allowance(changed), { quota: 5_000, used: 0, balance: 9 })
      assert.deepStrictEqual(yield* discrepanciesOf(account), [])
    })
  )

  it.effect("a trial that becomes a subscription and a trial again has what was left of it", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.parse("2026-02-10T00:00:00Z"))
      const accounts = yield* Accounts
      const ledger = yield* Ledger
      const account = yield* makeAccount({ plan: "trial" }, 10)
      yield* ledger.reserve(account, 40)
      const paid = yield* accounts.setPlan(account.id, { plan: "starter" })
      assert.deepInclude(yield* ledger.allowance(paid), { quota: 5_000, used: 0, balance: 10 })
      const trial = yield* accounts.setPlan(account.id, { plan: "trial" })
      assert.deepInclude(yield* ledger.allowance(trial), { quota: 100, used: 40, balance: 10, resetsAt: undefined })
    })
  )

  it.effect("the plan of an unknown account cannot be set", () =>
    Effect.gen(function* () {
      const refusal = yield* Effect.flip((yield* Accounts).setPlan("acc_none", { plan: "starter" }))
      assert.strictEqual(refusal._tag, "not_found")
    })
  )

  it.effect("R23: a subscriber has one account, however many see it first at once", () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const user = yield* makeEmail
      const seen = yield* Effect.all(
        Array.from({ length: 16 }, () => accounts.ofSubscriber(user, "growth")),
        { concurrency: "unbounded" }
      )
      for (const account of seen) assert.deepStrictEqual(account, seen[0])
      const account = seen[0] ?? assert.fail("nobody was seen")
      assert.deepInclude(account, {
        email: "",
        plan: "growth",
        quota: undefined,
        concurrency: 5,
        cycleStart: undefined
      })
      assert.deepStrictEqual(yield* accounts.byId(account.id), account)
      assert.notStrictEqual((yield* accounts.ofSubscriber(`${user}!`, "growth")).id, account.id)
    })
  )

  it.effect("R23: a subscriber's usage is counted by UTC calendar month and never refused, also on another plan", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.parse("2026-02-27T22:00:00Z"))
      const accounts = yield* Accounts
      const ledger = yield* Ledger
      const user = yield* makeEmail
      const account = yield* accounts.ofSubscriber(user, "starter")
      yield* ledger.settle(yield* ledger.reserve(account, 3), yield* makeRecords(account, 3))
      yield* ledger.reserve(account, 1_000_000)
      const changed = yield* accounts.ofSubscriber(user, "business")
      assert.deepStrictEqual(changed, { ...account, plan: "business", concurrency: 10 })
      assert.deepStrictEqual(yield* ledger.allowance(changed), {
        plan: "business",
        quota: undefined,
        used: 1_000_003,
        balance: 0,
        periodStart: Date.parse("2026-02-01T00:00:00Z"),
        resetsAt: Date.parse("2026-03-01T00:00:00Z")
      })
      yield* TestClock.setTime(Date.parse("2026-03-01T00:00:00Z"))
      assert.deepInclude(yield* ledger.allowance(changed), { quota: undefined, used: 0 })
      assert.deepStrictEqual(yield* discrepanciesOf(account), [])
      assert.strictEqual((yield* Effect.flip(accounts.setPlan(account.id, { plan: "starter" })))._tag, "AccountError")
    })
  )

  it.effect("R32: a removed account is gone, and its address has what was left of its trial", () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const ledger = yield* Ledger
      const email = yield* makeEmail
      const account = yield* accounts.create({ email, plan: "trial" })
      yield* ledger.settle(yield* ledger.reserve(account, 40), yield* makeRecords(account, 40))
      yield* accounts.remove(account.id)
      assert.strictEqual((yield* Effect.flip(accounts.byId(account.id)))._tag, "not_found")
      assert.strictEqual((yield* Effect.flip(accounts.byEmail(email)))._tag, "not_found")
      assert.strictEqual((yield* Effect.flip(accounts.remove(account.id)))._tag, "not_found")
      const again = yield* accounts.create({ email, plan: "trial" })
      assert.notStrictEqual(again.id, account.id)
      assert.deepInclude(yield* ledger.allowance(again), { quota: 100, used: 40 })
      assert.deepStrictEqual(yield* discrepanciesOf(account), [])
    })
  )

  it.effect("R32: a search of an account that is removed meanwhile is charged", () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const ledger = yield* Ledger
      const account = yield* makeAccount({ plan: "growth" })
      const hold = yield* ledger.reserve(account, 3)
      yield* accounts.remove(account.id)
      assert.strictEqual((yield* ledger.settle(hold, yield* makeRecords(account, 2))).charged, 2)
      assert.deepStrictEqual(yield* discrepanciesOf(account), [])
    })
  )

  it.effect("R49: a suspended account keeps everything, is suspended once, and is resumed", () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const ledger = yield* Ledger
      const account = yield* makeAccount({ plan: "growth" }, 10)
      yield* ledger.settle(yield* ledger.reserve(account, 3), yield* makeRecords(account, 3))
      const before = yield* ledger.allowance(account)
      const now = yield* Clock.currentTimeMillis
      const suspended = yield* accounts.suspend(account.id)
      assert.deepStrictEqual(suspended, { ...account, suspendedAt: now })
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* accounts.suspend(account.id), suspended)
      assert.deepStrictEqual(yield* accounts.byId(account.id), suspended)
      assert.deepStrictEqual(yield* ledger.allowance(suspended), before)
      assert.strictEqual(yield* ledger.grant(account.id, 5, "while it is suspended"), 15)
      assert.deepStrictEqual(yield* discrepanciesOf(account), [])
      assert.deepStrictEqual(yield* accounts.resume(account.id), account)
      assert.deepStrictEqual(yield* accounts.resume(account.id), account)
      for (const change of [accounts.suspend, accounts.resume]) {
        assert.strictEqual((yield* Effect.flip(change("acc_none")))._tag, "not_found")
      }
    })
  )

  it.effect("R49: a suspended subscriber stays the same suspended account", () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const user = yield* makeEmail
      const account = yield* accounts.ofSubscriber(user, "growth")
      const suspended = yield* accounts.suspend(account.id)
      assert.deepStrictEqual(yield* accounts.ofSubscriber(user, "growth"), suspended)
    })
  )

  it.effect("an address is changed to an unused one", () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const [before, after] = [yield* makeEmail, yield* makeEmail]
      const account = yield* accounts.create({ email: before, plan: "growth" })
      const other = yield* makeAccount({ plan: "growth" })
      const changed = yield* accounts.setEmail(account.id, ` ${after.toUpperCase()} `)
      assert.deepStrictEqual(changed, { ...account, email: after })
      assert.deepStrictEqual(yield* accounts.byEmail(after), changed)
      assert.strictEqual((yield* Effect.flip(accounts.byEmail(before)))._tag, "not_found")
      assert.deepStrictEqual(yield* accounts.setEmail(account.id, after), changed)
      const taken = yield* Effect.flip(accounts.setEmail(account.id, other.email))
      assert.deepStrictEqual([taken._tag, taken.message.includes(other.email)], ["AccountError", true])
      assert.deepStrictEqual(yield* accounts.byId(account.id), changed)
      const subscriber = yield* accounts.ofSubscriber(after, "growth")
      assert.strictEqual((yield* Effect.flip(accounts.setEmail(subscriber.id, before)))._tag, "AccountError")
      assert.strictEqual((yield* Effect.flip(accounts.setEmail("acc_none", before)))._tag, "not_found")
    })
  )

  it.effect("R32: with another address a trial goes on with what is left of that address's trial", () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const ledger = yield* Ledger
      const [first, second] = [yield* makeEmail, yield* makeEmail]
      const account = yield* accounts.create({ email: first, plan: "trial" })
      yield* ledger.settle(yield* ledger.reserve(account, 40), yield* makeRecords(account, 40))
      const moved = yield* accounts.setEmail(account.id, second)
      assert.deepInclude(yield* ledger.allowance(moved), { quota: 100, used: 0 })
      yield* ledger.settle(yield* ledger.reserve(moved, 5), yield* makeRecords(moved, 5))
      const back = yield* accounts.setEmail(account.id, first)
      assert.deepInclude(yield* ledger.allowance(back), { quota: 100, used: 40 })
      assert.deepStrictEqual(yield* discrepanciesOf(account), [])
    })
  )

  it.effect("R32: of many addresses of a mailbox at once, one account gets the trial grant", () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const ledger = yield* Ledger
      const name = (yield* makeEmail).split("@", 1).join("")
      const aliases = [`${name}@gmail.com`, `${name}+1@gmail.com`, `${name.replaceAll("-", ".-")}@googlemail.com`]
      const made = yield* Effect.all(
        [...aliases, ...aliases.map((alias) => alias.replace("@", "+more@"))].map((email) =>
          accounts.create({ email, plan: "trial" })
        ),
        { concurrency: "unbounded" }
      )
      const quotas = yield* Effect.forEach(made, (account) => ledger.allowance(account))
      assert.deepStrictEqual(quotas.map(({ quota }) => quota).sort(), [0, 0, 0, 0, 0, 100])
      const spent = yield* Effect.all(
        made.flatMap((account) => Array.from({ length: 30 }, () => Effect.result(ledger.reserve(account, 4)))),
        { concurrency: "unbounded" }
      )
      assert.lengthOf(spent.filter(Result.isSuccess), 25)
      for (const account of made) assert.deepStrictEqual(yield* discrepanciesOf(account), [])
    })
  )

  it.effect("R32: an alias has what is left of its mailbox's grant while no other account has it", () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const ledger = yield* Ledger
      const email = yield* makeEmail
      const alias = (tag: string) => email.replace("@", `+${tag}@`)
      const first = yield* accounts.create({ email, plan: "trial" })
      yield* ledger.settle(yield* ledger.reserve(first, 40), yield* makeRecords(first, 40))
      const second = yield* accounts.create({ email: alias("second"), plan: "trial" })
      assert.strictEqual(second.email, alias("second"))
      assert.deepInclude(yield* ledger.allowance(second), { quota: 0, used: 0 })
      assert.deepInclude(yield* ledger.allowance(first), { quota: 100, used: 40 })
      const chosen = yield* accounts.create({ email: alias("chosen"), plan: "trial", quota: 7 })
      assert.deepInclude(yield* ledger.allowance(chosen), { quota: 7, used: 0 })
      yield* accounts.remove(first.id)
      const third = yield* accounts.create({ email: alias("third"), plan: "trial" })
      assert.deepInclude(yield* ledger.allowance(third), { quota: 100, used: 40 })
      const paid = yield* accounts.setPlan(second.id, { plan: "starter" })
      assert.deepInclude(yield* ledger.allowance(paid), { quota: 5_000, used: 0 })
      const trial = yield* accounts.setPlan(second.id, { plan: "trial" })
      assert.deepInclude(yield* ledger.allowance(trial), { quota: 0, used: 0 })
      const moved = yield* accounts.setEmail(third.id, alias("moved"))
      assert.deepInclude(yield* ledger.allowance(moved), { quota: 100, used: 40 })
      for (const account of [second, chosen, third]) assert.deepStrictEqual(yield* discrepanciesOf(account), [])
    })
  )

  it.effect("an account is found by a key's name, by the start of its ID, and by what is shown of its secret", () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const keys = yield* KeyStore
      const account = yield* makeAccount({ plan: "starter" })
      const other = yield* makeAccount({ plan: "starter" })
      const label = `Crawler ${account.id.slice(-8)}`
      const { key, secret } = yield* keys.create(account.id, { label, mode: "live" })
      yield* keys.create(other.id, { label: "other", mode: "live" })
      const find = (text: string) =>
        Effect.map(
          accounts.list({ text, plan: undefined, suspended: undefined, after: undefined, limit: 10 }),
          (found) => found.map(({ id }) => id)
        )
      const value = Redacted.value(secret)
      for (const text of [
        label.toUpperCase(),
        label.slice(0, -2),
        key.id,
        value,
        value.slice(0, 12),
        value.slice(0, 20)
      ]) {
        assert.deepStrictEqual(yield* find(text), [account.id], text)
      }
      for (const text of ["sk_live_%", key.id.slice(0, 20), `${label}%`])
        assert.deepStrictEqual(yield* find(text), [], text)
      yield* keys.revoke(key.id)
      assert.deepStrictEqual(yield* find(value), [account.id])
    })
  )

  it.effect("accounts are listed newest first, page by page, by text, plan and suspension", () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const name = (yield* makeEmail).split("@", 1).join("")
      const make = Effect.fnUntraced(function* (prefix: string, plan: Plan) {
        yield* TestClock.adjust("1 second")
        return yield* accounts.create({ email: `${prefix}.${name}@example.com`, plan })
      })
      const [first, second, third] = [
        yield* make("a", "starter"),
        yield* make("b", "growth"),
        yield* make("c", "growth")
      ]
      const all = { text: name.toUpperCase(), plan: undefined, suspended: undefined, after: undefined, limit: 10 }
      assert.deepStrictEqual(yield* accounts.list(all), [third, second, first])
      assert.deepStrictEqual(yield* accounts.list({ ...all, limit: 2 }), [third, second])
      assert.deepStrictEqual(yield* accounts.list({ ...all, limit: 2, after: second.id }), [first])
      assert.deepStrictEqual(yield* accounts.list({ ...all, after: "acc_none" }), [])
      assert.deepStrictEqual(yield* accounts.list({ ...all, plan: "starter" }), [first])
      assert.deepStrictEqual(yield* accounts.list({ ...all, text: first.id.slice(0, 20) }), [first])
      const suspended = yield* accounts.suspend(second.id)
      assert.deepStrictEqual(yield* accounts.list({ ...all, suspended: true }), [suspended])
      assert.deepStrictEqual(yield* accounts.list({ ...all, suspended: false }), [third, first])
      const subscriber = yield* accounts.ofSubscriber(`Sub ${name}`, "growth")
      assert.deepStrictEqual(yield* accounts.list({ ...all, text: `sub ${name}` }), [subscriber])
      for (const text of ["%", "_", "\\"]) {
        assert.deepStrictEqual(yield* accounts.list({ ...all, text: `${text}.${name}` }), [], text)
      }
      yield* accounts.remove(third.id)
      assert.deepStrictEqual(yield* accounts.list({ ...all, plan: "growth" }), [subscriber, suspended])
    })
  )
}
