import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Layer, Metric, Redacted } from "effect"
import { TestClock } from "effect/testing"
import type { SlotLimits } from "../../../src/domain/webhooks/DeliverySlots.ts"
import { EmailNotSent } from "../../../src/services/accounts/Emails.ts"
import { Ledger } from "../../../src/services/credits/Ledger.ts"
import { EventBooks, type TakenDelivery } from "../../../src/services/webhooks/EventBooks.ts"
import { EventEmails } from "../../../src/services/webhooks/EventEmails.ts"
import * as EventWork from "../../../src/services/webhooks/EventWork.ts"
import { Webhooks } from "../../../src/services/webhooks/Webhooks.ts"
import * as WebhookClientMemory from "../../../src/testing/WebhookClientMemory.ts"
import { Receivers } from "../../../src/testing/WebhookClientMemory.ts"
import { makeAccount, makeRecords } from "../../support/api/searches.ts"
import * as MemoryStorage from "../../support/stores/MemoryStorage.ts"

const custom = { plan: "custom" as const, quota: 10, concurrency: 5, cycleStart: 0 }

interface Mail {
  readonly address: string
  readonly type: string
}

/** One replica over storage and receivers in memory. `mails` has the emails; without it there is no mail server. */
const withWork = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  {
    mails,
    receiver,
    replicas = 1,
    ...intervals
  }: EventWork.EventWorkOptions & {
    readonly mails?: Array<Mail>
    /** Replaces the receiver that the store names. */
    readonly receiver?: TakenDelivery["receiver"]
    readonly replicas?: number
  } = {}
) => {
  const emails = Layer.succeed(EventEmails, {
    delivers: mails !== undefined,
    send: (address, { type }) =>
      mails === undefined
        ? Effect.fail(new EmailNotSent({ reason: "there is none" }))
        : Effect.sync(() => void mails.push({ address, type })),
    accountOf: () => undefined
  })
  const books = Layer.effect(
    EventBooks,
    Effect.map(EventBooks, (books) => ({
      ...books,
      take: (limits: SlotLimits, leaseMs: number) =>
        Effect.map(books.take(limits, leaseMs), (taken) =>
          taken.map((it) => ({ ...it, receiver: receiver ?? it.receiver }))
        )
    }))
  )
  const work = Array.from({ length: replicas }, () => Layer.provide(EventWork.layer(intervals), books))
  return effect.pipe(
    Effect.provide(
      Layer.mergeAll(Webhooks.layer, ...work).pipe(
        Layer.provideMerge(Layer.mergeAll(emails, WebhookClientMemory.layer, MemoryStorage.layer))
      )
    )
  )
}

const url = "https://hooks.test/quarry"

const addEndpoint = Effect.fnUntraced(function* (accountId: string, address = url) {
  return yield* (yield* Webhooks).create(accountId, address, [])
})

const addTests = Effect.fnUntraced(function* (accountId: string, id: string, count: number) {
  const books = yield* EventBooks
  yield* Effect.forEach(Array.from({ length: count }), () => books.addTest(accountId, id))
})

const deliveriesOf = Effect.fnUntraced(function* (accountId: string, id: string) {
  const books = yield* EventBooks
  return (yield* books.deliveries(accountId, id, { after: undefined, limit: 100 })).deliveries
})

/** Looks that are far apart, for tests of days. */
const rare = { turnInterval: Duration.minutes(2), upkeepInterval: Duration.hours(1) }

/** Lets so many turns of a second pass. */
const turns = (count: number) => TestClock.adjust(`${count} seconds`)

describe("EventWork", () => {
  it.effect("R53: a receiver that is down for a day finally gets every event, under one id", () =>
    withWork(
      Effect.gen(function* () {
        const account = yield* makeAccount(custom)
        const { endpoint, secret } = yield* addEndpoint(account.id)
        const receivers = yield* Receivers
        receivers.answer = () => undefined
        const ids = []
        for (let hour = 0; hour < 24; hour++) {
          yield* (yield* Ledger).grant(account.id, 1, "thanks")
          yield* TestClock.adjust("1 hour")
        }
        assert.deepStrictEqual(receivers.posts, [])
        for (const { event, status } of yield* deliveriesOf(account.id, endpoint.id)) {
          assert.strictEqual(status, "pending")
          ids.push(event.id)
        }
        assert.lengthOf(ids, 24)
        receivers.answer = () => ({ status: 200, retryAfterMs: 0 })
        yield* TestClock.adjust("24 hours")
        assert.deepStrictEqual(receivers.posts.map(({ id }) => id).sort(), ids.toSorted())
        const [first] = receivers.posts
        assert.deepStrictEqual(first?.secrets.map(Redacted.value), [Redacted.value(secret)])
        const { data, type } = JSON.parse(first?.body ?? "")
        assert.deepStrictEqual([type, data.credits], ["pack.granted", 1])
        const [listed] = yield* (yield* EventBooks).endpoints(account.id)
        assert.isUndefined(listed?.failingSince)
      }),
      rare
    )
  )

  it.effect("R53: an event is given up after ten attempts in three days, and is shown so", () =>
    withWork(
      Effect.gen(function* () {
        const account = yield* makeAccount(custom)
        const { endpoint } = yield* addEndpoint(account.id)
        const receivers = yield* Receivers
        receivers.answer = () => ({ status: 307, retryAfterMs: 0 })
        yield* (yield* Webhooks).test(account.id, endpoint.id)
        yield* TestClock.adjust("90 hours")
        const [delivery] = yield* deliveriesOf(account.id, endpoint.id)
        assert.deepInclude(delivery, {
          status: "failed",
          attempts: 10,
          httpStatus: 307,
          error: "the endpoint responded with 307; redirects are not followed"
        })
        assert.lengthOf(receivers.posts, 10)
      }),
      rare
    )
  )

  it.effect("R53: 410 disables an endpoint, and Retry-After is kept", () =>
    withWork(
      Effect.gen(function* () {
        const account = yield* makeAccount(custom)
        const busy = yield* addEndpoint(account.id, "https://busy.test/")
        const gone = yield* addEndpoint(account.id, "https://gone.test/")
        const receivers = yield* Receivers
        receivers.answer = (post) =>
          post.url.includes("gone") ? { status: 410, retryAfterMs: 0 } : { status: 503, retryAfterMs: 600_000 }
        yield* (yield* Ledger).grant(account.id, 1, "thanks")
        yield* turns(599)
        assert.lengthOf(receivers.posts, 2)
        yield* turns(5)
        assert.lengthOf(receivers.posts, 3)
        const listed = yield* (yield* EventBooks).endpoints(account.id)
        const reasons = new Map(listed.map(({ disabledFor, id }) => [id, disabledFor]))
        assert.deepStrictEqual([reasons.get(busy.endpoint.id), reasons.get(gone.endpoint.id)], [undefined, "gone"])
      })
    )
  )

  it.effect("R53: an address that turns private gets nothing, and cannot be given", () =>
    withWork(
      Effect.gen(function* () {
        const account = yield* makeAccount(custom)
        const { endpoint } = yield* addEndpoint(account.id)
        const receivers = yield* Receivers
        receivers.isClosed = () => true
        yield* (yield* Webhooks).test(account.id, endpoint.id)
        yield* turns(60)
        assert.deepStrictEqual(receivers.posts, [])
        const [delivery] = yield* deliveriesOf(account.id, endpoint.id)
        assert.strictEqual(
          delivery?.error,
          "the endpoint could not be reached (not all of its addresses are on the public internet)"
        )
        const failures = [
          yield* Effect.flip(addEndpoint(account.id)),
          yield* Effect.flip((yield* Webhooks).change(account.id, endpoint.id, { url }))
        ]
        for (const failure of failures) {
          assert.deepStrictEqual(failure._tag === "invalid_request" ? failure.issues[0]?.field : "", "url")
        }
      })
    )
  )

  it.effect("R53: two replicas send each event once", () =>
    withWork(
      Effect.gen(function* () {
        const account = yield* makeAccount(custom)
        const { endpoint } = yield* addEndpoint(account.id)
        const webhooks = yield* Webhooks
        yield* Effect.forEach(Array.from({ length: 50 }), () => webhooks.test(account.id, endpoint.id))
        yield* turns(30)
        const { posts } = yield* Receivers
        assert.deepStrictEqual([posts.length, new Set(posts.map(({ id }) => id)).size], [50, 50])
      }),
      { replicas: 2 }
    )
  )

  it.effect("R53: a burst for one endpoint does not take minutes, and has at most four attempts at a time", () =>
    withWork(
      Effect.gen(function* () {
        const account = yield* makeAccount(custom)
        const { endpoint } = yield* addEndpoint(account.id)
        const webhooks = yield* Webhooks
        yield* Effect.forEach(Array.from({ length: 400 }), () => webhooks.test(account.id, endpoint.id))
        yield* turns(10)
        const { posts } = yield* Receivers
        assert.lengthOf(posts, 400)
      })
    )
  )

  /** The times in milliseconds that events of an account take to arrive, while the receivers of twenty others hang. */
  const arrivals = Effect.gen(function* () {
    const receivers = yield* Receivers
    receivers.isSilent = (address) => address.startsWith("https://silent.test/")
    for (let n = 0; n < 20; n++) {
      const { id } = yield* makeAccount(custom)
      for (let m = 0; m < 10; m++) {
        const { endpoint } = yield* addEndpoint(id, `https://silent.test/${n}/${m}`)
        yield* addTests(id, endpoint.id, 15)
      }
    }
    const account = yield* makeAccount(custom)
    yield* addEndpoint(account.id)
    const times = []
    yield* turns(3)
    // Long enough for attempts that hang to end and be made again, at endpoints that fail by then.
    for (let round = 0; round < 12; round++) {
      const count = receivers.posts.length
      yield* (yield* Ledger).grant(account.id, 1, "thanks")
      let waited = 0
      while (receivers.posts.length === count && waited < 30_000) {
        yield* TestClock.adjust(100)
        waited += 100
      }
      times.push(waited)
      if (waited > 5_000) break
      yield* turns(4)
    }
    return times
  })

  for (const replicas of [1, 3]) {
    it.effect(
      `R53: beside 20 accounts whose receivers hang, an event arrives in 5 seconds (${replicas} replicas)`,
      () =>
        withWork(
          Effect.gen(function* () {
            assert.isAtMost(Math.max(...(yield* arrivals)), 5_000)
          }),
          { replicas }
        )
    )
  }

  it.effect("R53: what is dropped is counted once, by its reason, although several replicas look", () =>
    withWork(
      Effect.gen(function* () {
        const account = yield* makeAccount(custom)
        const { endpoint } = yield* addEndpoint(account.id)
        const books = yield* EventBooks
        yield* books.pause(account.id, undefined, true)
        yield* addTests(account.id, endpoint.id, 3)
        yield* (yield* Webhooks).change(account.id, endpoint.id, { url: `${url}/new` })
        yield* addTests(account.id, endpoint.id, 2)
        yield* books.drop(account.id, undefined)
        yield* turns(31)
        const counts = Object.fromEntries(
          (yield* Metric.snapshot).flatMap(({ attributes, id, state }) =>
            id === "quarry.events.dropped" && "count" in state ? [[attributes?.reason, Number(state.count)]] : []
          )
        )
        assert.deepStrictEqual(counts, { address_changed: 3, suspended: 0, operator: 2, expired: 0, too_many: 0 })
      }),
      { replicas: 2 }
    ).pipe(
      Effect.provideServiceEffect(
        Metric.MetricRegistry,
        Effect.sync(() => new Map())
      )
    )
  )

  it.effect("R53: an address that nobody has confirmed gets no email, and no other attempt is made", () => {
    const mails: Array<Mail> = []
    return withWork(
      Effect.gen(function* () {
        const books = yield* EventBooks
        const account = yield* makeAccount(custom)
        const { endpoint } = yield* addEndpoint(account.id)
        yield* (yield* Webhooks).test(account.id, endpoint.id)
        yield* turns(60)
        const [delivery] = yield* deliveriesOf(account.id, endpoint.id)
        assert.deepStrictEqual(mails, [])
        assert.deepInclude(delivery, { status: "failed", attempts: 1, error: "the account's address is not confirmed" })
        assert.strictEqual((yield* books.figures).pending, 0)
      }),
      { mails, receiver: { _tag: "email", address: undefined } }
    )
  })

  it.effect("R53: with a mail server an event is one email, also where there are endpoints", () => {
    const mails: Array<Mail> = []
    return withWork(
      Effect.gen(function* () {
        yield* turns(61)
        const account = yield* makeAccount(custom)
        yield* addEndpoint(account.id)
        yield* addEndpoint(account.id)
        const ledger = yield* Ledger
        yield* ledger.settle(yield* ledger.reserve(account, 9), yield* makeRecords(account, 9))
        yield* turns(3)
        assert.deepStrictEqual(mails, [{ address: account.email, type: "credits.low" }])
        assert.lengthOf((yield* Receivers).posts, 2)
      }),
      { mails }
    )
  })

  it.effect("R53: quota.reset comes with the period, although nobody searches", () =>
    withWork(
      Effect.gen(function* () {
        const account = yield* makeAccount(custom)
        yield* addEndpoint(account.id)
        yield* TestClock.setTime(Date.UTC(1970, 1, 1, 2))
        const { posts } = yield* Receivers
        assert.deepStrictEqual(
          posts.map(({ body }) => JSON.parse(body).type),
          ["quota.reset"]
        )
      }),
      { turnInterval: Duration.hours(1), upkeepInterval: Duration.hours(1) }
    )
  )
})
