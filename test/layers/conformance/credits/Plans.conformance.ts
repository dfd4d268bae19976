import { assert, type Vitest } from "@effect/vitest"
import { Clock, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { type Account, accountAt } from "../../../../src/domain/accounts/Account.ts"
import type { SoldPlan } from "../../../../src/domain/billing/Purchase.ts"
import {
  billingCycle,
  calendarMonth,
  type PlanTable,
  type PlanTerms,
  standardPlans
} from "../../../../src/domain/credits/Plan.ts"
import { Accounts } from "../../../../src/services/accounts/Accounts.ts"
import { BillingBooks } from "../../../../src/services/billing/BillingBooks.ts"
import { Ledger } from "../../../../src/services/credits/Ledger.ts"
import { PlanBooks } from "../../../../src/services/credits/PlanBooks.ts"
import { Plans } from "../../../../src/services/credits/Plans.ts"
import type { Ids } from "../../../../src/services/Ids.ts"
import { discrepanciesOf, makeAccount, makeEmail } from "../../../support/api/searches.ts"

type Storage = Accounts | BillingBooks | Ids | Ledger | PlanBooks

const plansWith = (plan: keyof PlanTable, terms: Partial<PlanTerms>): PlanTable => ({
  ...standardPlans,
  [plan]: { ...standardPlans[plan], ...terms }
})

let months = 0

/**
 * The tests of a suite share a store, whose time goes on: each begins some months after the one before, with the standard plans.
 * The months are the first ones of the test's clock, because a connection's pool takes a turn for each minute that passes.
 */
const begin = Effect.gen(function* () {
  months += 4
  yield* TestClock.setTime(Date.UTC(1970, months, 10))
  yield* (yield* PlanBooks).enact
  yield* (yield* PlanBooks).apply
})

const tick = TestClock.adjust("1 hour")

const read = Effect.fnUntraced(function* ({ id }: Account) {
  const stored = yield* (yield* Accounts).byId(id)
  const account = accountAt(stored, yield* Clock.currentTimeMillis)
  return { account, allowance: yield* (yield* Ledger).allowance(account) }
})

/** The limits that an account has now. */
const limitsOf = (account: Account) =>
  Effect.map(read(account), ({ account: { concurrency }, allowance: { quota, used } }) => ({
    quota,
    used,
    concurrency
  }))

const subscribe = Effect.fnUntraced(function* (
  account: Account,
  plan: SoldPlan,
  startedAt: number,
  upgradedAt?: number
) {
  const books = yield* BillingBooks
  const period = billingCycle(startedAt, yield* Clock.currentTimeMillis)
  const orders = [
    { plan: "starter", reason: "create", status: "paid", createdAt: startedAt },
    ...(upgradedAt === undefined ? [] : [{ plan, reason: "update", status: "paid", createdAt: upgradedAt } as const])
  ] as const
  const subscription = {
    id: `sub_${account.id}`,
    plan,
    status: "active",
    period,
    startedAt,
    cancelAtPeriodEnd: false,
    pending: undefined,
    pastDueAt: undefined,
    modifiedAt: startedAt,
    orders
  } as const
  const reading = yield* books.nextReading
  const { id: accountId } = account
  yield* books.bookSubscriptions({
    accountId,
    customerId: accountId,
    reading,
    subscriptions: [subscription],
    graceMs: 0
  })
})

/** Changes of the plans promise this on any storage. `replica` makes another replica over the same store. */
export const plansConformance = <R>(
  it: Vitest.MethodsNonLive<Storage | R>,
  replica: (plans: Layer.Layer<Plans>) => Layer.Layer<Accounts | BillingBooks | Ledger | PlanBooks, never, R>
): void => {
  /** Runs in a replica that was started with these plans. */
  const startedWith = <A, E, S>(plans: PlanTable, effect: Effect.Effect<A, E, S>) =>
    Effect.provide(
      Effect.gen(function* () {
        yield* (yield* PlanBooks).enact
        yield* (yield* PlanBooks).apply
        return yield* effect
      }),
      Layer.fresh(replica(Layer.succeed(Plans, plans))),
      { local: true }
    )

  it.effect("R75: higher limits apply at once, and the use stays counted", () =>
    Effect.gen(function* () {
      yield* begin
      const account = yield* makeAccount({ plan: "growth" })
      yield* (yield* Ledger).reserve(account, 60)
      yield* tick
      yield* startedWith(
        plansWith("growth", { quota: 80_000, concurrency: 7 }),
        Effect.gen(function* () {
          assert.deepStrictEqual(yield* limitsOf(account), { quota: 80_000, used: 60, concurrency: 7 })
          assert.strictEqual(yield* (yield* PlanBooks).apply, 0)
        })
      )
      assert.deepStrictEqual(yield* discrepanciesOf(account), [])
    })
  )

  it.effect("R75: lower limits apply from the account's next cycle, to the millisecond", () =>
    Effect.gen(function* () {
      yield* begin
      const now = yield* Clock.currentTimeMillis
      const cycles = { monthly: calendarMonth(now), own: billingCycle(now - 3_600_000, now) }
      const monthly = yield* makeAccount({ plan: "growth" })
      const own = yield* makeAccount({ plan: "growth", cycleStart: now - 3_600_000 })
      yield* tick
      yield* startedWith(plansWith("growth", { quota: 10, concurrency: 3 }), Effect.void)
      const before = { quota: 75_000, used: 0, concurrency: 5 }
      const after = { quota: 10, used: 0, concurrency: 3 }
      yield* TestClock.setTime(cycles.monthly.end - 1)
      assert.deepStrictEqual(yield* limitsOf(monthly), before)
      yield* TestClock.setTime(cycles.monthly.end)
      assert.deepStrictEqual([yield* limitsOf(monthly), yield* limitsOf(own)], [after, before])
      yield* TestClock.setTime(cycles.own.end)
      assert.deepStrictEqual(yield* limitsOf(own), after)
    })
  )

  it.effect("R75: limits that were agreed with an account do not follow its plan, each by itself", () =>
    Effect.gen(function* () {
      yield* begin
      const accounts = yield* Accounts
      const quota = yield* makeAccount({ plan: "growth", quota: 75_000 })
      const changed = yield* makeAccount({ plan: "starter" })
      yield* accounts.setPlan(changed.id, { plan: "growth", concurrency: 5 })
      const returned = yield* makeAccount({ plan: "growth", quota: 9 })
      yield* accounts.setPlan(returned.id, { plan: "growth" })
      assert.deepInclude(yield* accounts.byId(quota.id), { agreedQuota: true })
      yield* tick
      const end = calendarMonth(yield* Clock.currentTimeMillis).end
      const limits = Effect.forEach([quota, changed, returned], limitsOf)
      yield* startedWith(plansWith("growth", { quota: 80_000, concurrency: 7 }), Effect.void)
      assert.deepStrictEqual(yield* limits, [
        { quota: 75_000, used: 0, concurrency: 7 },
        { quota: 80_000, used: 0, concurrency: 5 },
        { quota: 80_000, used: 0, concurrency: 7 }
      ])
      yield* startedWith(plansWith("growth", { quota: 10, concurrency: 1 }), Effect.void)
      yield* TestClock.setTime(end)
      assert.deepStrictEqual(yield* limits, [
        { quota: 75_000, used: 0, concurrency: 1 },
        { quota: 10, used: 0, concurrency: 5 },
        { quota: 10, used: 0, concurrency: 1 }
      ])
    })
  )

  it.effect(
    "R32, R75: a trial gets a higher quota once for its mailbox, and keeps it when the trial's is lowered",
    () =>
      Effect.gen(function* () {
        yield* begin
        const accounts = yield* Accounts
        const email = yield* makeEmail
        const first = yield* accounts.create({ email, plan: "trial" })
        const second = yield* accounts.create({ email: email.replace("@", "+two@"), plan: "trial" })
        yield* (yield* Ledger).reserve(first, 30)
        yield* tick
        const limits = Effect.forEach([first, second], limitsOf)
        const raised = [
          { quota: 150, used: 30, concurrency: 1 },
          { quota: 0, used: 0, concurrency: 1 }
        ]
        yield* startedWith(plansWith("trial", { quota: 150 }), Effect.void)
        assert.deepStrictEqual(yield* limits, raised)
        yield* tick
        const third = yield* startedWith(
          plansWith("trial", { quota: 20 }),
          Effect.flatMap(makeAccount({ plan: "trial" }), limitsOf)
        )
        assert.deepStrictEqual(third, { quota: 20, used: 0, concurrency: 1 })
        yield* TestClock.adjust("70 days")
        assert.deepStrictEqual(yield* limits, raised)
      })
  )

  it.effect("R23, R75: a marketplace subscriber's usage stays counted, and its concurrency follows the plan", () =>
    Effect.gen(function* () {
      yield* begin
      const user = yield* makeEmail
      const account = yield* (yield* Accounts).ofSubscriber(user, "growth")
      yield* tick
      const end = calendarMonth(yield* Clock.currentTimeMillis).end
      yield* startedWith(plansWith("growth", { quota: 1, concurrency: 7 }), Effect.void)
      assert.deepStrictEqual(yield* limitsOf(account), { quota: undefined, used: 0, concurrency: 7 })
      yield* startedWith(plansWith("growth", { quota: 1, concurrency: 2 }), Effect.void)
      assert.deepStrictEqual(yield* limitsOf(account), { quota: undefined, used: 0, concurrency: 7 })
      yield* TestClock.setTime(end)
      assert.deepStrictEqual(yield* limitsOf(account), { quota: undefined, used: 0, concurrency: 2 })
    })
  )

  it.effect(
    "R75: a replica whose plans are not in force changes nobody, and what it makes is brought to those that are",
    () =>
      Effect.gen(function* () {
        yield* begin
        const lower = plansWith("growth", { quota: 50_000 })
        const account = yield* startedWith(
          lower,
          Effect.gen(function* () {
            // The other replica was started later, with the standard plans.
            yield* tick
            yield* startedWith(standardPlans, Effect.void)
            const account = yield* makeAccount({ plan: "growth" })
            assert.strictEqual(yield* (yield* PlanBooks).apply, 0)
            assert.deepInclude(yield* limitsOf(account), { quota: 50_000 })
            return account
          })
        )
        assert.isAtLeast(yield* (yield* PlanBooks).apply, 1)
        assert.deepInclude(yield* limitsOf(account), { quota: 75_000 })
      })
  )

  it.effect("R39, R75: a reading of a subscription finds the limits that the change of plans left", () =>
    Effect.gen(function* () {
      yield* begin
      const startedAt = yield* Clock.currentTimeMillis
      const { end } = billingCycle(startedAt, startedAt)
      const account = yield* makeAccount({ plan: "trial" })
      yield* subscribe(account, "starter", startedAt)
      const upgradedAt = startedAt + (end - startedAt) / 2
      yield* TestClock.setTime(upgradedAt)
      yield* subscribe(account, "growth", startedAt, upgradedAt)
      assert.deepStrictEqual(yield* limitsOf(account), { quota: 40_000, used: 0, concurrency: 5 })
      yield* tick
      const again = Effect.andThen(subscribe(account, "growth", startedAt, upgradedAt), limitsOf(account))
      const raised = { quota: 50_000, used: 0, concurrency: 6 }
      yield* startedWith(plansWith("growth", { quota: 85_000, concurrency: 6 }), Effect.void)
      assert.deepStrictEqual([yield* limitsOf(account), yield* again], [raised, raised])
      yield* tick
      const lower = plansWith("growth", { quota: 70_000, concurrency: 2 })
      yield* startedWith(lower, Effect.void)
      assert.deepStrictEqual([yield* limitsOf(account), yield* again], [raised, raised])
      yield* TestClock.setTime(end)
      const lowered = { quota: 70_000, used: 0, concurrency: 2 }
      assert.deepStrictEqual([yield* limitsOf(account), yield* again], [lowered, lowered])
      assert.deepStrictEqual(yield* discrepanciesOf(account), [])
    })
  )
}
