import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type { PaymentProvider } from "../../../src/services/billing/PaymentProvider.ts"
import { accessToken, type Fault } from "../../support/polar/FakePolar.ts"
import { polar } from "../../support/polar/Provider.ts"

const id = "0f6f1f0c-0000-4000-8000-0000000000ff"
const email = "ada@example.com"
const buyer = { accountId: "acc_ada", email, customerId: id, address: undefined }

type Provider = PaymentProvider["Service"]
type Failure = Effect.Error<ReturnType<Provider["changePlan"]> | ReturnType<Provider["customerOf"]>>

interface Port {
  readonly [name: string]: Effect.Effect<unknown, Failure>
}

/** Calls that a person waits for, or that change something. */
const prompt = (provider: Provider): Port => ({
  customerOf: provider.customerOf("acc_ada", email, () => Effect.succeed(false)),
  openPlanCheckout: provider.openPlanCheckout(buyer, "growth"),
  openPackCheckout: provider.openPackCheckout(buyer, { credits: 10_000, cents: 800 }),
  checkout: provider.checkout(id),
  openPortal: provider.openPortal(id),
  changePlan: provider.changePlan(id, "growth", "now"),
  callOffChange: provider.callOffChange(id),
  setCancellation: provider.setCancellation(id, false),
  subscription: provider.subscription(id),
  subscriptionsOf: provider.subscriptionsOf(id),
  order: provider.order(id),
  ordersOf: provider.ordersOf({ customerId: id })
})

/** Calls of the sweep. */
const patient = (provider: Provider): Port => ({
  openSubscriptions: provider.openSubscriptions,
  ordersSince: provider.ordersSince(0),
  refundedSince: provider.refundedSince(0),
  voidOrders: provider.voidOrders,
  disputes: provider.disputes
})

const others = (provider: Provider): Port => ({ removeCustomer: provider.removeCustomer(id), check: provider.check })

const turn = Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))

/** The milliseconds in which the clock goes on between two turns of the event loop, in which bytes are sent and read. */
const stepMs = 10

/** A call under a clock that goes on while it waits: its end, and the milliseconds that it took. */
const timed = Effect.fnUntraced(function* <A, E>(call: Effect.Effect<A, E>) {
  const fiber = yield* Effect.forkChild(call, { startImmediately: true })
  let ms = 0
  for (; fiber.pollUnsafe() === undefined; ms += stepMs) {
    yield* turn
    yield* TestClock.adjust(stepMs)
  }
  return { exit: yield* Fiber.await(fiber), ms }
})

const kinds: ReadonlyArray<Fault["kind"]> = ["500", "junk", "cut", "redirect", "huge", "types", "reset", "401"]

describe("M5: a provider that is down or lies is unavailable, and never a defect", () => {
  it.effect.each(kinds)("%s", (kind) =>
    Effect.gen(function* () {
      const { fake, provider } = yield* polar()
      fake.fail(kind)
      for (const [name, call] of Object.entries({ ...prompt(provider), ...patient(provider) })) {
        const failure = yield* Effect.flip(call)
        assert.strictEqual(failure._tag, "ProviderUnavailable", name)
        assert.notInclude(JSON.stringify(failure), email)
        assert.notInclude(JSON.stringify(failure), accessToken)
      }
    })
  )

  it.effect.each(["500", "junk", "redirect", "huge", "reset"] as const)("%s to a removal and to a check", (kind) =>
    Effect.gen(function* () {
      const { fake, provider } = yield* polar()
      fake.fail(kind)
      for (const call of Object.values(others(provider)))
        assert.strictEqual((yield* Effect.flip(call))._tag, "ProviderUnavailable")
    })
  )

  it.effect("silence, after 5 s", () =>
    Effect.gen(function* () {
      const { fake, provider } = yield* polar()
      fake.fail("silence")
      for (const [name, call] of Object.entries({ ...prompt(provider), ...patient(provider), ...others(provider) })) {
        const { exit, ms } = yield* timed(Effect.flip(call))
        assert.isTrue(Exit.isSuccess(exit) && exit.value._tag === "ProviderUnavailable", name)
        assert.isTrue(ms >= 5_000 && ms < 6_000, `${name} took ${ms} ms`)
      }
    })
  )

  it.effect("a port on which nobody listens", () =>
    Effect.gen(function* () {
      const { provider } = yield* polar({}, { baseUrl: "http://127.0.0.1:9" })
      for (const call of Object.values({ ...prompt(provider), ...patient(provider), ...others(provider) }))
        assert.strictEqual((yield* Effect.flip(call))._tag, "ProviderUnavailable")
    })
  )
})

describe("too many calls", () => {
  it.effect("say when to come again, at once where a person waits", () =>
    Effect.gen(function* () {
      const { fake, provider } = yield* polar()
      fake.fail("429")
      for (const [name, call] of Object.entries(prompt(provider))) {
        const failure = yield* Effect.flip(call)
        assert.isTrue(failure._tag === "ProviderUnavailable" && failure.retryAfter !== undefined, name)
      }
    })
  )

  it.effect("are waited for by the sweep, three times for each page", () =>
    Effect.gen(function* () {
      const { fake, provider } = yield* polar()
      fake.fail("429", "", 3)
      const { exit, ms } = yield* timed(provider.openSubscriptions)
      assert.deepStrictEqual(exit, Exit.succeed([]))
      assert.isAtLeast(ms, 21_000)
      fake.fail("429")
      const failed = (yield* timed(Effect.flip(provider.ordersSince(0)))).exit
      assert.isTrue(Exit.isSuccess(failed) && failed.value._tag === "ProviderUnavailable")
      assert.lengthOf(fake.received, 8)
    })
  )
})

describe("R42: nothing that changes something is sent twice", () => {
  it.effect.each(["500", "reset", "junk"] as const)("%s", (kind) =>
    Effect.gen(function* () {
      const { fake, provider } = yield* polar()
      fake.fail(kind)
      for (const call of Object.values(prompt(provider))) yield* Effect.exit(call)
      yield* Effect.exit(provider.removeCustomer(id))
      const writes = fake.received
        .filter(({ method }) => method !== "GET")
        .map((it) => JSON.stringify([it.path, it.body]))
      assert.strictEqual(new Set(writes).size, writes.length)
    })
  )
})
