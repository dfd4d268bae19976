import { assert, type Vitest } from "@effect/vitest"
import { Clock, Effect, Redacted } from "effect"
import { TestClock } from "effect/testing"
import type { Account } from "../../../../src/domain/accounts/Account.ts"
import { toMoment } from "../../../../src/domain/requests/fields.ts"
import { type EventType, maxFailingMs } from "../../../../src/domain/webhooks/Event.ts"
import { Accounts } from "../../../../src/services/accounts/Accounts.ts"
import type { QueryLog } from "../../../../src/services/charging/QueryLog.ts"
import { Ledger } from "../../../../src/services/credits/Ledger.ts"
import { Ids } from "../../../../src/services/Ids.ts"
import { KeyStore } from "../../../../src/services/keys/KeyStore.ts"
import {
  type Attempt,
  EventBooks,
  maxEndpoints,
  type TakenDelivery
} from "../../../../src/services/webhooks/EventBooks.ts"
import { discrepanciesOf, makeAccount, makeRecords } from "../../../support/api/searches.ts"

type Storage = Accounts | EventBooks | Ids | KeyStore | Ledger | QueryLog

const secretText = `whsec_${Buffer.alloc(32, 7).toString("base64")}`
const anyNumber = { working: 10_000, failing: 10_000, perEndpoint: 10_000 }
const leaseMs = 60_000

const delivered: Attempt = { durationMs: 12, httpStatus: 204, failure: undefined }
const failed = (waitMs: number | undefined, isGone = false): Attempt => ({
  durationMs: 12,
  httpStatus: isGone ? 410 : 500,
  failure: { error: "it answered", waitMs, isGone }
})

const addEndpoint = Effect.fnUntraced(function* (account: Account, types: ReadonlyArray<EventType> = []) {
  const id = yield* (yield* Ids).make("whk_")
  const secret = Redacted.make(secretText)
  return yield* (yield* EventBooks).addEndpoint(account.id, { id, url: "https://example.com/hook", types, secret })
})

/** The account's deliveries that are due, taken for a minute. The storage is shared with other tests. */
const takeOf = Effect.fnUntraced(function* (account: Account) {
  const taken = yield* (yield* EventBooks).take(anyNumber, leaseMs)
  return taken.filter(({ event }) => event.accountId === account.id)
})

/** Types of the account's events that nobody has taken yet, in their order. */
const typesOf = (account: Account) =>
  Effect.map(takeOf(account), (taken) => taken.map(({ event }) => event.type).sort())

const dataOf = (taken: ReadonlyArray<TakenDelivery>, type: string) =>
  taken.filter(({ event }) => event.type === type).map(({ event }) => event.data)

const reserve = Effect.fnUntraced(function* (account: Account, credits: number) {
  return yield* (yield* Ledger).reserve(account, credits)
})

const search = Effect.fnUntraced(function* (account: Account, credits: number) {
  const hold = yield* reserve(account, credits)
  yield* (yield* Ledger).settle(hold, yield* makeRecords(account, credits))
})

const custom = (quota: number) => ({ plan: "custom" as const, quota, concurrency: 5, cycleStart: 0 })

const credits = (it: Vitest.MethodsNonLive<Storage>): void => {
  it.effect("R53: credits.low comes once at each threshold of a quota, and credits.exhausted at its end", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(0)
      const account = yield* makeAccount(custom(100))
      yield* addEndpoint(account)
      yield* search(account, 50)
      assert.deepStrictEqual(yield* typesOf(account), [])
      yield* search(account, 30)
      assert.deepStrictEqual(dataOf(yield* takeOf(account), "credits.low"), [
        {
          source: "quota",
          threshold_percent: 80,
          plan: "custom",
          quota: 100,
          used: 80,
          remaining: 20,
          balance: 0,
          resets_at: "1970-02-01T00:00:00.000Z"
        }
      ])
      yield* search(account, 14)
      assert.deepStrictEqual(yield* typesOf(account), [])
      yield* search(account, 6)
      assert.deepStrictEqual(yield* typesOf(account), ["credits.exhausted", "credits.low"])
      assert.deepStrictEqual(yield* discrepanciesOf(account), [])
    })
  )

  it.effect("R53: crossing a threshold again in the same period sends nothing", () =>
    Effect.gen(function* () {
      const account = yield* makeAccount(custom(10))
      yield* addEndpoint(account, ["credits.low", "credits.exhausted"])
      const ledger = yield* Ledger
      yield* search(account, 7)
      for (let round = 0; round < 3; round++) {
        const hold = yield* reserve(account, 3)
        yield* ledger.settle(hold, [])
      }
      assert.deepStrictEqual(yield* typesOf(account), ["credits.exhausted", "credits.low", "credits.low"])
    })
  )

  it.effect("R53: 500 parallel searches cross each threshold once", () =>
    Effect.gen(function* () {
      const account = yield* makeAccount(custom(500))
      yield* addEndpoint(account)
      yield* Effect.forEach(Array.from({ length: 500 }), () => search(account, 1), {
        concurrency: "unbounded",
        discard: true
      })
      assert.deepStrictEqual(yield* typesOf(account), ["credits.exhausted", "credits.low", "credits.low"])
      assert.deepStrictEqual(yield* discrepanciesOf(account), [])
    })
  )

  it.effect("R53: an account sets its thresholds, and a threshold that was already crossed sends nothing", () =>
    Effect.gen(function* () {
      const account = yield* makeAccount(custom(100))
      const books = yield* EventBooks
      yield* addEndpoint(account)
      yield* search(account, 40)
      const settings = yield* books.changeSettings(account.id, { lowPercents: [10, 50] })
      assert.deepStrictEqual(settings.lowPercents, [10, 50])
      yield* search(account, 5)
      assert.deepStrictEqual(yield* typesOf(account), [])
      yield* search(account, 50)
      assert.deepStrictEqual(yield* typesOf(account), ["credits.low"])
    })
  )

  it.effect("R53: a balance under the account's threshold is an event once for each grant", () =>
    Effect.gen(function* () {
      const account = yield* makeAccount(custom(0), 10)
      yield* addEndpoint(account, ["credits.low", "credits.exhausted"])
      yield* (yield* EventBooks).changeSettings(account.id, { lowBalance: 5 })
      yield* search(account, 5)
      assert.deepStrictEqual(yield* typesOf(account), [])
      yield* search(account, 1)
      assert.deepInclude(dataOf(yield* takeOf(account), "credits.low")[0], {
        source: "balance",
        threshold_credits: 5,
        balance: 4
      })
      yield* search(account, 4)
      assert.deepStrictEqual(yield* typesOf(account), ["credits.exhausted"])
      yield* (yield* Ledger).grant(account.id, 10, "more")
      yield* search(account, 10)
      assert.deepStrictEqual(yield* typesOf(account), ["credits.exhausted", "credits.low"])
      assert.deepStrictEqual(yield* discrepanciesOf(account), [])
    })
  )

  it.effect("R53: while nobody listens nothing is written, and a later endpoint hears of what comes", () =>
    Effect.gen(function* () {
      const account = yield* makeAccount(custom(10))
      yield* search(account, 8)
      const { id } = yield* addEndpoint(account)
      const page = yield* (yield* EventBooks).deliveries(account.id, id, { after: undefined, limit: 10 })
      assert.deepStrictEqual(page, { deliveries: [], next: undefined })
      yield* search(account, 2)
      assert.deepStrictEqual(yield* typesOf(account), ["credits.exhausted", "credits.low"])
    })
  )
}

const changes = (it: Vitest.MethodsNonLive<Storage>): void => {
  it.effect("R53: granted credits are an event, once for each grant", () =>
    Effect.gen(function* () {
      const account = yield* makeAccount(custom(10))
      yield* addEndpoint(account)
      const ledger = yield* Ledger
      const key = yield* (yield* Ids).requestId
      yield* ledger.grant(account.id, 500, "thanks", key)
      yield* ledger.grant(account.id, 500, "thanks", key)
      assert.deepStrictEqual(dataOf(yield* takeOf(account), "pack.granted"), [{ credits: 500, balance: 500 }])
    })
  )

  it.effect("R53: a change of plan is an event, and the same plan again is none", () =>
    Effect.gen(function* () {
      const account = yield* makeAccount({ plan: "trial" })
      yield* addEndpoint(account)
      const accounts = yield* Accounts
      yield* accounts.setPlan(account.id, { plan: "growth", cycleStart: 0 })
      yield* accounts.setPlan(account.id, { plan: "growth", cycleStart: 0 })
      const taken = yield* takeOf(account)
      assert.deepStrictEqual(
        taken.map(({ event }) => event.data),
        [{ plan: "growth", previous_plan: "trial" }]
      )
    })
  )

  it.effect("R53: a period that follows another is quota.reset, without a search too", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(0)
      const account = yield* makeAccount(custom(10))
      yield* addEndpoint(account, ["quota.reset"])
      const books = yield* EventBooks
      yield* search(account, 1)
      assert.notInclude(yield* books.overdueAccounts(10_000), account.id)
      yield* TestClock.setTime(Date.UTC(1970, 1, 1))
      assert.include(yield* books.overdueAccounts(10_000), account.id)
      yield* (yield* Ledger).allowance(account)
      assert.notInclude(yield* books.overdueAccounts(10_000), account.id)
      const taken = yield* takeOf(account)
      assert.deepStrictEqual(dataOf(taken, "quota.reset"), [
        {
          plan: "custom",
          quota: 10,
          used: 0,
          period_start: "1970-02-01T00:00:00.000Z",
          resets_at: "1970-03-01T00:00:00.000Z"
        }
      ])
    })
  )
}

const keys = (it: Vitest.MethodsNonLive<Storage>): void => {
  it.effect("R53: a key that is made, replaced or revoked is one event each", () =>
    Effect.gen(function* () {
      const account = yield* makeAccount(custom(10))
      yield* addEndpoint(account)
      const store = yield* KeyStore
      const { key: first } = yield* store.create(account.id, { label: "CI", mode: "live" })
      const { key: second } = yield* store.rotateOwn(account.id, first.id)
      const { key: third } = yield* store.rotateOwn(account.id, second.id, 3_600)
      yield* store.revokeOwn(account.id, third.id)
      const data = ({ hint, id }: typeof first) => ({ key_id: id, name: "CI", type: "live", hint })
      const taken = yield* takeOf(account)
      assert.lengthOf(taken, 4)
      assert.deepStrictEqual(dataOf(taken, "key.created"), [data(first)])
      assert.deepStrictEqual(dataOf(taken, "key.revoked"), [data(third)])
      assert.sameDeepMembers(dataOf(taken, "key.rotated").slice(), [
        { ...data(second), previous_key_id: first.id },
        { ...data(third), previous_key_id: second.id }
      ])
    })
  )

  it.effect("R53: a key that expires within a week is one event for each expiry", () =>
    Effect.gen(function* () {
      const account = yield* makeAccount(custom(10))
      yield* addEndpoint(account, ["key.expiring"])
      const store = yield* KeyStore
      const books = yield* EventBooks
      const now = yield* Clock.currentTimeMillis
      const dayMs = 86_400_000
      const bounds = { expiresAt: now + 8 * dayMs }
      const { key } = yield* store.create(account.id, { label: "CI", mode: "live", bounds })
      yield* books.addExpiring(7 * dayMs)
      assert.deepStrictEqual(yield* typesOf(account), [])
      for (const after of [8, 8, 9, 9]) {
        yield* store.bindOwn(account.id, key.id, { expiresAt: now + after * dayMs })
        yield* books.addExpiring(9 * dayMs)
      }
      const taken = yield* takeOf(account)
      assert.sameMembers(
        taken.map(({ event }) => event.data.expires_at),
        [toMoment(now + 8 * dayMs), toMoment(now + 9 * dayMs)]
      )
      yield* store.revokeOwn(account.id, key.id)
      yield* books.addExpiring(9 * dayMs)
      assert.deepStrictEqual(yield* typesOf(account), [])
    })
  )
}

const endpoints = (it: Vitest.MethodsNonLive<Storage>): void => {
  it.effect("R53: an endpoint gets the types that it has chosen, and its test", () =>
    Effect.gen(function* () {
      const account = yield* makeAccount(custom(10))
      const books = yield* EventBooks
      const chosen = yield* addEndpoint(account, ["pack.granted"])
      yield* search(account, 9)
      assert.deepStrictEqual(yield* typesOf(account), [])
      yield* (yield* Ledger).grant(account.id, 5, "thanks")
      const test = yield* books.addTest(account.id, chosen.id)
      assert.deepStrictEqual([test.status, test.attempts, test.event.type], ["pending", 0, "webhook.test"])
      const taken = yield* takeOf(account)
      assert.deepStrictEqual(taken.map(({ event }) => event.type).sort(), ["pack.granted", "webhook.test"])
      const [first] = taken
      if (first?.receiver._tag !== "endpoint") return assert.fail("an email")
      assert.strictEqual(first.receiver.url, "https://example.com/hook")
      assert.deepStrictEqual(first.receiver.secrets.map(Redacted.value), [secretText])
    })
  )

  it.effect("R53: endpoints are counted, and nobody reaches those of another account", () =>
    Effect.gen(function* () {
      const account = yield* makeAccount(custom(10))
      const other = yield* makeAccount(custom(10))
      const books = yield* EventBooks
      const added = yield* Effect.forEach(Array.from({ length: maxEndpoints }), () => addEndpoint(account))
      assert.strictEqual((yield* Effect.flip(addEndpoint(account)))._tag, "invalid_request")
      assert.lengthOf(yield* books.endpoints(account.id), maxEndpoints)
      assert.deepStrictEqual(yield* books.endpoints(other.id), [])
      const id = added[0]?.id ?? ""
      const page = { after: undefined, limit: 1 }
      const failures = [
        yield* Effect.flip(books.changeEndpoint(other.id, id, { disabled: true })),
        yield* Effect.flip(books.removeEndpoint(other.id, id)),
        yield* Effect.flip(books.replaceSecret(other.id, id, Redacted.make(secretText), 0)),
        yield* Effect.flip(books.addTest(other.id, id)),
        yield* Effect.flip(books.deliveries(other.id, id, page)),
        yield* Effect.flip(books.redeliver(other.id, id, "dlv_1")),
        yield* Effect.flip(books.redeliver(account.id, id, "dlv_1")),
        yield* Effect.flip(books.changeEndpoint(account.id, "a\u0000b", {}))
      ]
      assert.deepStrictEqual([...new Set(failures.map(({ _tag }) => _tag))], ["not_found"])
      yield* books.removeEndpoint(account.id, id)
      assert.lengthOf(yield* books.endpoints(account.id), maxEndpoints - 1)
    })
  )

  it.effect("R53: an old secret signs too until its grace has ended", () =>
    Effect.gen(function* () {
      const account = yield* makeAccount(custom(10))
      const books = yield* EventBooks
      const { id } = yield* addEndpoint(account)
      const next = `whsec_${Buffer.alloc(32, 9).toString("base64")}`
      yield* books.replaceSecret(account.id, id, Redacted.make(next), 3_600_000)
      const secrets = Effect.gen(function* () {
        yield* books.addTest(account.id, id)
        const [taken] = yield* takeOf(account)
        return taken?.receiver._tag === "endpoint" ? taken.receiver.secrets.map(Redacted.value) : []
      })
      assert.deepStrictEqual(yield* secrets, [next, secretText])
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(yield* secrets, [next])
    })
  )

  it.effect("R53: deliveries are listed page by page, and sent again under the event's id", () =>
    Effect.gen(function* () {
      const account = yield* makeAccount(custom(10))
      const books = yield* EventBooks
      const { id } = yield* addEndpoint(account)
      const tests = yield* Effect.forEach(Array.from({ length: 5 }), () => books.addTest(account.id, id))
      const first = yield* books.deliveries(account.id, id, { after: undefined, limit: 3 })
      const second = yield* books.deliveries(account.id, id, { after: first.next, limit: 3 })
      assert.deepStrictEqual(
        [...first.deliveries, ...second.deliveries].map((it) => it.id),
        tests.map((it) => it.id).reverse()
      )
      assert.isUndefined(second.next)
      const again = yield* books.redeliver(account.id, id, tests[0]?.id ?? "")
      assert.notStrictEqual(again.id, tests[0]?.id)
      assert.deepStrictEqual(again.event, tests[0]?.event)
      yield* books.changeEndpoint(account.id, id, { disabled: true })
      const disabled = yield* Effect.flip(books.redeliver(account.id, id, again.id))
      assert.strictEqual(disabled._tag, "invalid_request")
      const ended = yield* books.deliveries(account.id, id, { after: undefined, limit: 10 })
      assert.deepStrictEqual([...new Set(ended.deliveries.map(({ status }) => status))], ["failed"])
      assert.deepStrictEqual(yield* takeOf(account), [])
    })
  )
}

const attempts = (it: Vitest.MethodsNonLive<Storage>): void => {
  it.effect("R53: a delivery is taken once while its lease lasts, and again when nobody finished it", () =>
    Effect.gen(function* () {
      const account = yield* makeAccount(custom(10))
      const books = yield* EventBooks
      const { id } = yield* addEndpoint(account)
      yield* books.addTest(account.id, id)
      const [first] = yield* takeOf(account)
      assert.deepStrictEqual(yield* takeOf(account), [])
      yield* TestClock.adjust(leaseMs)
      const [second] = yield* takeOf(account)
      if (first === undefined || second === undefined) return assert.fail("nothing was taken")
      assert.deepStrictEqual([second.id, second.attempts], [first.id, 2])
      assert.strictEqual(yield* books.finish(first, failed(1_000)), "lost")
      assert.strictEqual(yield* books.finish(second, delivered), "delivered")
      assert.strictEqual(yield* books.finish(second, delivered), "lost")
      const { deliveries } = yield* books.deliveries(account.id, id, { after: undefined, limit: 1 })
      assert.deepInclude(deliveries[0], { status: "delivered", attempts: 2, httpStatus: 204, error: undefined })
    })
  )

  it.effect("R53: a failed attempt waits for its time, and the last one gives up", () =>
    Effect.gen(function* () {
      const start = yield* Clock.currentTimeMillis
      const account = yield* makeAccount(custom(10))
      const books = yield* EventBooks
      const { id } = yield* addEndpoint(account)
      yield* books.addTest(account.id, id)
      const [first] = yield* takeOf(account)
      if (first === undefined) return assert.fail("nothing was taken")
      assert.strictEqual(yield* books.finish(first, failed(5_000)), "postponed")
      yield* TestClock.adjust(4_999)
      assert.deepStrictEqual(yield* takeOf(account), [])
      yield* TestClock.adjust(1)
      const [second] = yield* takeOf(account)
      if (second?.receiver._tag !== "endpoint") return assert.fail("nothing was taken")
      assert.isTrue(second.receiver.isFailing)
      assert.strictEqual(yield* books.finish(second, failed(undefined)), "given_up")
      const { deliveries } = yield* books.deliveries(account.id, id, { after: undefined, limit: 1 })
      assert.deepInclude(deliveries[0], { status: "failed", attempts: 2, httpStatus: 500, error: "it answered" })
      const [endpoint] = yield* books.endpoints(account.id)
      assert.deepInclude(endpoint, { failingSince: start, disabledAt: undefined })
    })
  )

  it.effect("R53: 410 disables an endpoint at once, and failures do after five days without a success", () =>
    Effect.gen(function* () {
      const account = yield* makeAccount(custom(10))
      const books = yield* EventBooks
      const one = Effect.fnUntraced(function* (id: string, attempt: Attempt) {
        yield* books.addTest(account.id, id)
        const [taken] = yield* takeOf(account)
        return taken === undefined ? assert.fail("nothing was taken") : yield* books.finish(taken, attempt)
      })
      const gone = yield* addEndpoint(account)
      assert.strictEqual(yield* one(gone.id, failed(5_000, true)), "disabled")
      const failing = yield* addEndpoint(account)
      yield* one(failing.id, failed(undefined))
      yield* TestClock.adjust(maxFailingMs - 1)
      yield* one(failing.id, failed(undefined))
      yield* TestClock.adjust(1)
      assert.strictEqual(yield* one(failing.id, failed(5_000)), "disabled")
      const listed = yield* books.endpoints(account.id)
      assert.sameMembers(
        listed.map(({ disabledFor }) => disabledFor),
        ["gone", "failing"]
      )
      yield* (yield* Ledger).grant(account.id, 5, "thanks")
      assert.deepStrictEqual(yield* typesOf(account), [])
      const enabled = yield* books.changeEndpoint(account.id, failing.id, { disabled: false })
      assert.deepInclude(enabled, { failingSince: undefined, disabledAt: undefined, disabledFor: undefined })
      assert.strictEqual(yield* one(failing.id, delivered), "delivered")
    })
  )

  it.effect("R53: one endpoint has so many attempts at a time, and those that fail have slots of their own", () =>
    Effect.gen(function* () {
      const account = yield* makeAccount(custom(10))
      const books = yield* EventBooks
      yield* takeOf(account)
      const working = yield* addEndpoint(account)
      const failing = yield* addEndpoint(account)
      yield* books.addTest(account.id, failing.id)
      const [first] = yield* takeOf(account)
      if (first !== undefined) yield* books.finish(first, failed(undefined))
      for (const { id } of [working, working, working, failing, failing]) yield* books.addTest(account.id, id)
      const idsOf = (limits: Parameters<typeof books.take>[0]) =>
        Effect.map(books.take(limits, leaseMs), (taken) =>
          taken.flatMap(({ receiver }) => (receiver._tag === "endpoint" ? [receiver.id] : []))
        )
      assert.deepStrictEqual(yield* idsOf({ working: 10, failing: 0, perEndpoint: 2 }), [working.id, working.id])
      assert.deepStrictEqual(yield* idsOf({ working: 10, failing: 9, perEndpoint: 2 }), [failing.id])
      assert.sameMembers(yield* idsOf({ working: 100, failing: 100, perEndpoint: 3 }), [working.id, failing.id])
    })
  )

  it.effect("R53: an account gets less than a quarter of the slots, and one with fewer attempts goes before it", () =>
    Effect.gen(function* () {
      const books = yield* EventBooks
      const busy = yield* makeAccount(custom(10))
      const other = yield* makeAccount(custom(10))
      yield* takeOf(busy)
      const add = Effect.fnUntraced(function* (account: Account, count: number) {
        const { id } = yield* addEndpoint(account)
        for (let n = 0; n < count; n++) yield* books.addTest(account.id, id)
      })
      for (let n = 0; n < maxEndpoints; n++) yield* add(busy, 4)
      const slots = (working: number) =>
        Effect.map(books.take({ working, failing: 0, perEndpoint: 4 }, leaseMs), (taken) =>
          taken.map(({ event }) => event.accountId)
        )
      assert.deepStrictEqual(
        yield* slots(40),
        Array.from({ length: 8 }, () => busy.id)
      )
      assert.deepStrictEqual(yield* slots(32), [])
      yield* add(other, 2)
      assert.deepStrictEqual(yield* slots(1), [other.id])
      assert.deepStrictEqual(yield* slots(1), [])
      assert.include(yield* slots(100), other.id)
    })
  )
}

/** What was dropped of the account's, by reason and receiver. */
const droppedOf = (account: Account) =>
  Effect.gen(function* () {
    const all = yield* (yield* EventBooks).collectDropped(10_000)
    const counts: Record<string, number> = {}
    for (const { accountId, deliveries, endpointId, reason } of all) {
      if (accountId !== account.id) continue
      const name = `${reason} ${endpointId ?? "email"}`
      counts[name] = (counts[name] ?? 0) + deliveries
    }
    return counts
  })

const drops = (it: Vitest.MethodsNonLive<Storage>): void => {
  it.effect(
    "R53: what waits for an address is dropped when the address changes, and cannot be sent to the next one",
    () =>
      Effect.gen(function* () {
        const account = yield* makeAccount(custom(10))
        const books = yield* EventBooks
        const { id, url } = yield* addEndpoint(account)
        yield* books.addTest(account.id, id)
        const [retried] = yield* takeOf(account)
        if (retried !== undefined) yield* books.finish(retried, failed(1_000))
        yield* books.addTest(account.id, id)
        yield* books.changeEndpoint(account.id, id, { url, types: [] })
        const same = yield* books.deliveries(account.id, id, { after: undefined, limit: 10 })
        assert.deepStrictEqual(
          same.deliveries.map(({ status }) => status),
          ["pending", "pending"]
        )
        yield* TestClock.adjust(1)
        yield* books.changeEndpoint(account.id, id, { url: "https://victim.example/" })
        yield* TestClock.adjust(leaseMs)
        assert.deepStrictEqual(yield* takeOf(account), [])
        const { deliveries } = yield* books.deliveries(account.id, id, { after: undefined, limit: 10 })
        for (const { error, id: delivery, status } of deliveries) {
          assert.deepStrictEqual([status, error], ["failed", "the webhook's address was changed"])
          const refused = yield* Effect.flip(books.redeliver(account.id, id, delivery))
          assert.strictEqual(refused._tag, "invalid_request")
        }
        assert.deepStrictEqual(yield* droppedOf(account), { [`address_changed ${id}`]: 2 })
        // The address that it had before is another one too, and events that happen from now on are sent.
        yield* books.changeEndpoint(account.id, id, { url })
        assert.deepStrictEqual(yield* takeOf(account), [])
        const test = yield* books.addTest(account.id, id)
        assert.lengthOf(yield* takeOf(account), 1)
        yield* books.redeliver(account.id, id, test.id)
        assert.lengthOf(yield* takeOf(account), 1)
      })
  )

  it.effect("R53: an attempt that is in flight when its address changes is not repeated at the next one", () =>
    Effect.gen(function* () {
      const account = yield* makeAccount(custom(10))
      const books = yield* EventBooks
      const { id } = yield* addEndpoint(account)
      yield* books.addTest(account.id, id)
      const [taken] = yield* takeOf(account)
      if (taken === undefined) return assert.fail("nothing was taken")
      yield* books.changeEndpoint(account.id, id, { url: "https://victim.example/" })
      assert.strictEqual(yield* books.finish(taken, failed(1_000)), "lost")
      yield* TestClock.adjust(leaseMs)
      assert.deepStrictEqual(yield* takeOf(account), [])
    })
  )

  it.effect(
    "R53: only a change of address, and enabling what was disabled, end the time for which an endpoint fails",
    () =>
      Effect.gen(function* () {
        const account = yield* makeAccount(custom(10))
        const books = yield* EventBooks
        const { id, url } = yield* addEndpoint(account)
        yield* books.addTest(account.id, id)
        const [taken] = yield* takeOf(account)
        if (taken !== undefined) yield* books.finish(taken, failed(1_000))
        const since = (change: Parameters<typeof books.changeEndpoint>[2]) =>
          Effect.map(books.changeEndpoint(account.id, id, change), ({ failingSince }) => failingSince)
        assert.isDefined(yield* since({ url }))
        assert.isDefined(yield* since({ disabled: false }))
        assert.isDefined(yield* since({ disabled: true }))
        assert.isUndefined(yield* since({ disabled: false }))
      })
  )

  it.effect("R49, R53: a suspended account is sent nothing, neither what waited nor what happens meanwhile", () =>
    Effect.gen(function* () {
      const account = yield* makeAccount(custom(10))
      const books = yield* EventBooks
      const accounts = yield* Accounts
      const { id } = yield* addEndpoint(account)
      yield* books.addTest(account.id, id)
      const [retried] = yield* takeOf(account)
      if (retried !== undefined) yield* books.finish(retried, failed(3_600_000))
      const waiting = yield* books.addTest(account.id, id)
      yield* accounts.suspend(account.id)
      yield* (yield* Ledger).grant(account.id, 5, "thanks")
      assert.deepStrictEqual(yield* takeOf(account), [])
      yield* accounts.resume(account.id)
      yield* TestClock.adjust("2 hours")
      assert.deepStrictEqual(yield* takeOf(account), [])
      const { deliveries } = yield* books.deliveries(account.id, id, { after: undefined, limit: 10 })
      assert.deepStrictEqual(
        deliveries.map(({ error, status }) => [status, error]),
        Array.from({ length: 3 }, () => ["failed", "the account was suspended"])
      )
      assert.deepStrictEqual(yield* droppedOf(account), { [`suspended ${id}`]: 3 })
      yield* books.redeliver(account.id, id, waiting.id)
      assert.lengthOf(yield* takeOf(account), 1)
    })
  )

  it.effect("R49, R53: a suspended account gets no email either", () =>
    Effect.gen(function* () {
      const account = yield* makeAccount(custom(10))
      const books = yield* EventBooks
      yield* books.setEmails(true)
      yield* (yield* Ledger).grant(account.id, 5, "thanks")
      yield* books.setEmails(false)
      yield* (yield* Accounts).suspend(account.id)
      assert.deepStrictEqual(yield* takeOf(account), [])
      assert.deepStrictEqual(yield* droppedOf(account), { "suspended email": 1 })
    })
  )

  it.effect("R53: what the operator pauses waits, and what the operator drops has ended", () =>
    Effect.gen(function* () {
      const account = yield* makeAccount(custom(10))
      const books = yield* EventBooks
      const first = yield* addEndpoint(account)
      const second = yield* addEndpoint(account)
      const add = Effect.forEach([first, first, second], ({ id }) => books.addTest(account.id, id))
      const queues = Effect.map(books.queues(account.id), ({ pausedAt, webhooks }) => {
        const seen = webhooks.map(({ endpoint, failed, pausedAt, queued }) => [
          endpoint.id,
          [queued, failed, pausedAt !== undefined]
        ])
        return { isPaused: pausedAt !== undefined, ...Object.fromEntries(seen) }
      })
      yield* add
      yield* books.pause(account.id, first.id, true)
      assert.lengthOf(yield* takeOf(account), 1)
      yield* books.pause(account.id, undefined, true)
      yield* add
      assert.deepStrictEqual(yield* takeOf(account), [])
      assert.deepStrictEqual(yield* queues, {
        isPaused: true,
        [first.id]: [4, 0, true],
        [second.id]: [2, 0, false]
      })
      assert.strictEqual((yield* books.figures).overdueMs, 0)
      yield* books.pause(account.id, first.id, false)
      assert.deepStrictEqual(yield* takeOf(account), [])
      yield* books.pause(account.id, undefined, false)
      assert.lengthOf(yield* takeOf(account), 5)
      yield* add
      assert.strictEqual(yield* books.drop(account.id, first.id), 6)
      assert.strictEqual(yield* books.drop(account.id, undefined), 3)
      assert.strictEqual(yield* books.drop(account.id, undefined), 0)
      assert.deepStrictEqual(yield* queues, {
        isPaused: false,
        [first.id]: [0, 6, false],
        [second.id]: [0, 3, false]
      })
      assert.deepStrictEqual(yield* takeOf(account), [])
      assert.deepStrictEqual(yield* droppedOf(account), { [`operator ${first.id}`]: 6, [`operator ${second.id}`]: 3 })
      assert.deepStrictEqual(yield* droppedOf(account), {})
      const other = yield* makeAccount(custom(10))
      const failures = [
        yield* Effect.flip(books.pause(other.id, first.id, true)),
        yield* Effect.flip(books.drop(other.id, first.id))
      ]
      assert.deepStrictEqual(
        failures.map(({ _tag }) => _tag),
        ["not_found", "not_found"]
      )
    })
  )

  it.effect("R53: a delivery that waits for longer than events are kept is counted as it goes", () =>
    Effect.gen(function* () {
      const account = yield* makeAccount(custom(10))
      const books = yield* EventBooks
      const { id } = yield* addEndpoint(account)
      yield* books.addTest(account.id, id)
      const before = yield* Clock.currentTimeMillis
      yield* TestClock.setTime(Date.UTC(2200, 0, 1))
      while ((yield* books.prune(1)) > 0);
      yield* TestClock.setTime(before)
      assert.deepStrictEqual(yield* droppedOf(account), { [`expired ${id}`]: 1 })
    })
  )
}

const emails = (it: Vitest.MethodsNonLive<Storage>): void => {
  it.effect("R53: with a mail server each event is one email to the account, until it stops them", () =>
    Effect.gen(function* () {
      const account = yield* makeAccount(custom(10))
      const books = yield* EventBooks
      yield* books.setEmails(true)
      yield* (yield* Ledger).grant(account.id, 5, "thanks")
      const [taken, ...more] = yield* takeOf(account)
      assert.deepStrictEqual([taken?.receiver, more], [{ _tag: "email", address: account.email }, []])
      const ledger = yield* Ledger
      yield* ledger.grant(account.id, 5, "thanks")
      yield* books.changeSettings(account.id, { emailTypes: [] })
      yield* ledger.grant(account.id, 5, "thanks")
      assert.deepStrictEqual(yield* takeOf(account), [])
      yield* books.changeSettings(account.id, { emailTypes: ["pack.granted"] })
      yield* books.setEmails(false)
      yield* ledger.grant(account.id, 5, "thanks")
      assert.deepStrictEqual(yield* takeOf(account), [])
    })
  )

  it.effect("R53: events and endpoints of a removed account are gone, and old events are deleted", () =>
    Effect.gen(function* () {
      const account = yield* makeAccount(custom(10))
      const books = yield* EventBooks
      const { id } = yield* addEndpoint(account)
      yield* books.addTest(account.id, id)
      yield* (yield* Accounts).remove(account.id)
      assert.deepStrictEqual(yield* books.endpoints(account.id), [])
      assert.deepStrictEqual(yield* takeOf(account), [])
      const other = yield* makeAccount(custom(10))
      const kept = yield* addEndpoint(other)
      yield* books.addTest(other.id, kept.id)
      const before = yield* Clock.currentTimeMillis
      yield* TestClock.setTime(Date.UTC(2200, 0, 1))
      while ((yield* books.prune(1)) > 0);
      yield* TestClock.setTime(before)
      const page = yield* books.deliveries(other.id, kept.id, { after: undefined, limit: 1 })
      assert.deepStrictEqual(page.deliveries, [])
    })
  )
}

/** What events promise on any storage. */
export const eventsConformance = (it: Vitest.MethodsNonLive<Storage>): void => {
  credits(it)
  changes(it)
  keys(it)
  endpoints(it)
  attempts(it)
  drops(it)
  emails(it)
}
