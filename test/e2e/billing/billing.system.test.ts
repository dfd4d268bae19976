import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { fakePolar } from "../../support/polar/FakePolar.ts"
import { faketimeLibrary } from "../../support/processes/faketime.ts"
import { freePort, spawned, temporaryDirectory } from "../../support/processes/Spawned.ts"
import * as EmbeddedStore from "../../support/stores/EmbeddedStore.ts"

if (faketimeLibrary === undefined && process.env.QUARRY_REQUIRE_SERVICES === "1") {
  throw new Error("QUARRY_REQUIRE_SERVICES=1, but Debian's package libfaketime is not installed")
}

const dayMs = 86_400_000

/** A clock for a process that a test moves while it runs. The process's timers run as ever. */
const movableClock = Effect.gen(function* () {
  const file = join(yield* temporaryDirectory, "clock")
  let aheadSeconds = 0
  const write = () => writeFileSync(file, `+${aheadSeconds}`)
  write()
  return {
    env: {
      LD_PRELOAD: faketimeLibrary ?? "",
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: "1",
      FAKETIME_DONT_FAKE_MONOTONIC: "1"
    },
    move: (seconds: number) => {
      aheadSeconds += seconds
      write()
      return aheadSeconds
    }
  }
})

/** Quarry and the provider's fake, both on one clock, and a person with a browser. */
const start = Effect.gen(function* () {
  const [port, clock, directory] = [yield* freePort, yield* movableClock, yield* EmbeddedStore.directory]
  const origin = `http://localhost:${port}`
  const fake = yield* fakePolar({ webhookUrl: `${origin}/webhooks/billing` })
  const env = { DATA_DIR: directory, LOG_FORMAT: "json", ...clock.env, ...fake.environment() }
  const server = yield* spawned("src/main.ts", [], { ...env, PORT: `${port}` })
  const started = yield* server.said("Quarry listens at ")
  assert.include(started, "Quarry listens at ")

  let cookie = ""
  const send = (method: string, path: string, body?: object) =>
    Effect.promise(async () => {
      const response = await fetch(`${origin}${path}`, {
        method,
        headers: { origin, cookie, ...(body === undefined ? {} : { "content-type": "application/json" }) },
        body: body === undefined ? null : JSON.stringify(body)
      })
      const text = await response.text()
      cookie = response.headers.getSetCookie()[0]?.split(";", 1).join("") ?? cookie
      return { status: response.status, headers: response.headers, json: text === "" ? undefined : JSON.parse(text) }
    })

  /** Moves the one clock of all: what falls due at the provider until then happens at its own time. */
  const move = Effect.fnUntraced(function* (ms: number) {
    const seconds = Math.ceil(ms / 1000)
    fake.deliveries.levers.skewSeconds = clock.move(seconds)
    fake.model.advance(seconds * 1000)
    yield* Effect.promise(() => fake.deliveries.idle())
  })

  /** Presses a button of a page of the provider, and answers the address that it leads to. */
  const press = (page: string, action: "pay" | "decline") =>
    Effect.promise(async () => {
      const html = await (await fetch(page)).text()
      const [, path = ""] = new RegExp(`action="([^"]+/${action})"`).exec(html) ?? []
      const response = await fetch(new URL(path, page), { method: "POST", redirect: "manual" })
      return response.headers.get("location")
    })
  return { clock, env, fake, move, press, send, server }
})

type Stage = Effect.Success<typeof start>

const person = { email: "ada@example.com", password: "correct horse battery staple", name: "Ada" }

const signIn = ({ send }: Stage) =>
  Effect.map(send("POST", "/api/auth/sign-in/email", person), ({ status }) => assert.strictEqual(status, 200))

/** Runs so many searches in one batch. */
const search = ({ send }: Stage, count: number) =>
  Effect.map(
    send("POST", "/v1/bulk", { queries: Array.from({ length: count }, (_, n) => `http caching ${n}`) }),
    ({ headers, status }) => {
      assert.strictEqual(status, 200)
      assert.strictEqual(headers.get("x-credits-used"), `${count}`)
    }
  )

/** The books of the account: plan, quota, used, balance, owed, status of the subscription, and what is pending. */
const books = ({ send }: Stage) =>
  Effect.map(Effect.all([send("GET", "/v1/usage"), send("GET", "/v1/billing")]), ([usage, billing]) => {
    assert.deepStrictEqual([usage.status, billing.status], [200, 200])
    const { balance, plan, quota, used } = usage.json
    const { owed, subscription } = billing.json
    return [plan, quota, used, balance, owed, subscription?.status ?? "none", subscription?.pending_plan ?? null]
  })

type Row = Effect.Success<ReturnType<typeof books>>

/** The books once they are like this: a delivery was answered before its work. */
const booksBecome = (stage: Stage, expected: Row) =>
  Effect.gen(function* () {
    let last = yield* books(stage)
    yield* Effect.gen(function* () {
      last = yield* books(stage)
      return JSON.stringify(last) === JSON.stringify(expected)
    }).pipe(Effect.repeat({ until: (is) => is, schedule: Schedule.spaced("100 millis"), times: 100 }))
    assert.deepStrictEqual(last, expected)
    assert.deepStrictEqual(stage.fake.faults, [])
  })

/** Signs up, subscribes to the smallest plan, and buys a pack. */
const arrive = Effect.fnUntraced(function* (stage: Stage) {
  const { fake, press, send } = stage
  assert.strictEqual((yield* send("POST", "/api/auth/sign-up/email", person)).status, 200)
  yield* booksBecome(stage, ["trial", 100, 0, 0, 0, "none", null])
  yield* search(stage, 50)
  yield* search(stage, 10)
  yield* booksBecome(stage, ["trial", 100, 60, 0, 0, "none", null])
  for (const path of ["packs", "plan"]) {
    const refused = yield* send("POST", `/v1/billing/${path}`, { credits: 10_000, plan: "growth" })
    assert.deepStrictEqual([refused.status, refused.json.error], [409, "no_subscription"])
  }

  const checkout = yield* send("POST", "/v1/billing/checkout", { plan: "starter" })
  assert.strictEqual(checkout.status, 201)
  assert.isNull(yield* press(checkout.json.checkout_url, "decline"))
  yield* booksBecome(stage, ["trial", 100, 60, 0, 0, "none", null])
  fake.deliveries.levers.hold = true
  const back = new URL((yield* press(checkout.json.checkout_url, "pay")) ?? "")
  const synced = yield* send("POST", "/v1/billing/sync", { checkout_id: back.searchParams.get("checkout_id") })
  assert.deepStrictEqual([synced.status, synced.json.plan], [200, "starter"])
  fake.deliveries.levers.hold = false
  yield* Effect.promise(() => fake.deliveries.release("reverse"))
  yield* booksBecome(stage, ["starter", 5_000, 0, 0, 0, "active", null])
  yield* search(stage, 50)

  const again = yield* send("POST", "/v1/billing/checkout", { plan: "starter" })
  assert.deepStrictEqual([again.status, again.json.error], [409, "plan_unchanged"])
  const pack = yield* send("POST", "/v1/billing/packs", { credits: 10_000 })
  assert.deepStrictEqual([pack.status, pack.json.price], [201, 1_500])
  yield* press(pack.json.checkout_url, "pay")
  yield* booksBecome(stage, ["starter", 5_000, 50, 10_000, 0, "active", null])
})

/** Upgrades after ten days, to the credit of R39; the next period has the whole quota; then a downgrade. */
const change = Effect.fnUntraced(function* (stage: Stage) {
  const { fake, move, send } = stage
  yield* move(10 * dayMs)
  yield* signIn(stage)
  const upgraded = yield* send("POST", "/v1/billing/plan", { plan: "growth" })
  assert.deepStrictEqual([upgraded.status, upgraded.json.plan, upgraded.json.pending_plan], [200, "growth", null])
  const [subscription] = fake.model.subscriptions.values()
  const order = [...fake.model.orders.values()].find(({ reason }) => reason === "subscription_update")
  assert.isDefined(subscription)
  assert.isDefined(order)
  const { end, start } = subscription
  const quota = 5_000 + Math.floor((70_000 * (end - order.createdAt)) / (end - start))
  assert.isAbove(quota, 50_000)
  assert.isBelow(quota, 60_000)
  yield* booksBecome(stage, ["growth", quota, 50, 10_000, 0, "active", null])
  const usage = yield* send("GET", "/v1/usage")
  assert.deepStrictEqual([Date.parse(usage.json.period.start), Date.parse(usage.json.period.end)], [start, end])

  yield* move(end - fake.model.now())
  yield* signIn(stage)
  yield* booksBecome(stage, ["growth", 75_000, 0, 10_000, 0, "active", null])
  const now = yield* send("POST", "/v1/billing/plan", { plan: "starter", when: "now" })
  assert.deepStrictEqual([now.status, now.json.issues[0].field], [400, "when"])
  const down = yield* send("POST", "/v1/billing/plan", { plan: "starter" })
  assert.deepStrictEqual([down.status, down.json.plan, down.json.pending_plan], [200, "growth", "starter"])
  yield* booksBecome(stage, ["growth", 75_000, 0, 10_000, 0, "active", "starter"])
  yield* move(subscription.end - fake.model.now())
  yield* signIn(stage)
  yield* booksBecome(stage, ["starter", 5_000, 0, 10_000, 0, "active", null])
  yield* search(stage, 20)
})

/** The next renewal is declined: grace, the trial's terms, and the plan again with what was used. */
const declineAndRecover = Effect.fnUntraced(function* (stage: Stage) {
  const { fake, move, send } = stage
  const [subscription] = fake.model.subscriptions.values()
  assert.isDefined(subscription)
  fake.model.setCard(subscription.customerId, "declines")
  yield* move(subscription.end - fake.model.now())
  yield* signIn(stage)
  yield* booksBecome(stage, ["starter", 5_000, 0, 10_000, 0, "past_due", null])
  yield* search(stage, 30)
  const pack = yield* send("POST", "/v1/billing/packs", { credits: 10_000 })
  assert.deepStrictEqual([pack.status, pack.json.error], [409, "no_subscription"])
  const { subscription: state } = (yield* send("GET", "/v1/billing")).json
  assert.strictEqual(Date.parse(state.grace_until), (subscription.pastDueAt ?? 0) + 3 * dayMs)

  yield* move(Date.parse(state.grace_until) - fake.model.now())
  yield* booksBecome(stage, ["trial", 100, 60, 10_000, 0, "past_due", null])
  yield* search(stage, 45)
  yield* booksBecome(stage, ["trial", 100, 100, 9_995, 0, "past_due", null])
  fake.model.setCard(subscription.customerId, "pays")
  yield* Effect.promise(() => fake.deliveries.idle())
  yield* booksBecome(stage, ["starter", 5_000, 30, 9_995, 0, "active", null])
})

/** The pack is refunded after a part of it was spent, and the next one settles what is owed. */
const refund = Effect.fnUntraced(function* (stage: Stage) {
  const { fake, press, send } = stage
  const [order] = [...fake.model.orders.values()].filter(({ reason }) => reason === "purchase")
  assert.isDefined(order)
  fake.model.refund(order.id)
  yield* Effect.promise(() => fake.deliveries.idle())
  yield* booksBecome(stage, ["starter", 5_000, 30, 0, 5, "active", null])
  const pack = yield* send("POST", "/v1/billing/packs", { credits: 10_000 })
  yield* press(pack.json.checkout_url, "pay")
  yield* booksBecome(stage, ["starter", 5_000, 30, 9_995, 0, "active", null])
})

/** A cancellation at the provider's own page; packs are spent on the trial; then the account is deleted. */
const leave = Effect.fnUntraced(function* (stage: Stage) {
  const { fake, move, send } = stage
  const [subscription] = fake.model.subscriptions.values()
  assert.isDefined(subscription)
  assert.strictEqual((yield* send("POST", "/v1/billing/portal")).status, 201)
  fake.model.setCancel(subscription.id, true)
  yield* Effect.promise(() => fake.deliveries.idle())
  yield* booksBecome(stage, ["starter", 5_000, 30, 9_995, 0, "active", null])
  yield* move(subscription.end - fake.model.now())
  yield* signIn(stage)
  yield* booksBecome(stage, ["trial", 100, 100, 9_995, 0, "none", null])
  yield* search(stage, 50)
  yield* booksBecome(stage, ["trial", 100, 100, 9_945, 0, "none", null])

  assert.strictEqual((yield* send("DELETE", "/v1/account")).status, 204)
  assert.strictEqual((yield* send("GET", "/v1/billing")).status, 401)
  const customer = fake.model.customers.get(subscription.customerId)
  yield* Effect.repeat(Effect.void, {
    until: () => customer?.deletedAt !== undefined,
    schedule: Schedule.spaced("100 millis"),
    times: 300
  })
  assert.isDefined(customer?.deletedAt)
})

describe("billing over real HTTP", () => {
  describe.skipIf(faketimeLibrary === undefined)("with libfaketime", () => {
    it.live(
      "R37 to R42: a whole life, with the books right after each step",
      () =>
        Effect.gen(function* () {
          const stage = yield* start
          yield* arrive(stage)
          yield* change(stage)
          yield* declineAndRecover(stage)
          yield* refund(stage)
          yield* leave(stage)
          stage.server.kill("SIGTERM")
          const { stdout } = yield* stage.server.ended
          // The log has the mail of the sign-up, because there is no mail server.
          const lines = stdout.split("\n").filter((line) => !line.includes("SMTP"))
          for (const secret of [person.email, "polar_oat", "whsec_"]) assert.notInclude(lines.join("\n"), secret)
          const { LD_PRELOAD: _, ...env } = stage.env
          const verified = yield* Effect.flatMap(
            spawned("src/cli.ts", ["ledger", "verify", "--json"], env),
            (it) => it.ended
          )
          assert.deepStrictEqual(JSON.parse(verified.stdout), { ok: true, discrepancies: [] })
        }),
      300_000
    )
  })
})
