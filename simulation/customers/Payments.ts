import { Effect } from "effect"
import type { Order, Subscription } from "../../src/services/billing/PaymentProvider.ts"
import { Ledger } from "../../src/services/credits/Ledger.ts"
import type { ModelAccount } from "../Account.ts"
import type { Auditor } from "../Auditor.ts"
import { creditsTakenBack, planRank, quotaOf, upgraded } from "../Model.ts"
import { dayMs, type World } from "../World.ts"
import type { Chance } from "../world/Chance.ts"
import { send } from "./Client.ts"
import { search } from "./Habits.ts"
import type { Person } from "./Person.ts"

const hourMs = 3_600_000
const minuteMs = 60_000
/** R41: grace period after an unpaid renewal. */
const graceMs = 3 * dayMs
const plans = ["starter", "growth", "business"] as const

/** The payment provider's deliveries, and the people on its pages. */
export class Payments {
  private readonly world: World
  private readonly auditor: Auditor
  private readonly chance: Chance
  private readonly posted = new Set<string>()

  constructor(world: World, auditor: Auditor) {
    this.world = world
    this.auditor = auditor
    this.chance = world.chance("payments")
  }

  private ownerOf(kind: string, id: string): string | undefined {
    const { orders, subscriptions } = this.world.levers.state
    return kind === "order" ? orders.get(id)?.accountId : subscriptions.get(id)?.accountId
  }

  /** Records that the provider changed something of this account, so that its books will follow. */
  private move(accountId: string | undefined): void {
    const account = this.auditor.accounts.get(accountId ?? "")
    if (account === undefined) return
    account.isMoving = true
    account.movedAt = this.world.agenda.now
    account.version++
  }

  /** Sends the provider's pending deliveries: late, repeated, out of order, or never. */
  post(isLost = false): void {
    const { agenda, levers } = this.world
    for (const { deliveryId, object } of levers.state.outbox) {
      if (this.posted.has(deliveryId)) continue
      this.posted.add(deliveryId)
      if (object.kind !== "none") this.move(this.ownerOf(object.kind, object.id))
      const times = isLost || this.chance.isTrue(0.1) ? 0 : this.chance.isTrue(0.15) ? 2 : 1
      for (let turn = 0; turn < times; turn++) {
        const ms = this.chance.isTrue(0.1) ? this.chance.between(1, dayMs) : this.chance.wait(5_000)
        agenda.after(ms, () => void this.world.act(this.deliver(deliveryId, 4), () => undefined))
      }
    }
  }

  private deliver(deliveryId: string, tries: number): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const { agenda, internet, pickReplica, trace } = this.world
      const outcome = yield* send(
        { method: "POST", path: "/webhooks/billing", headers: { "webhook-id": deliveryId }, body: "{}" },
        { agenda, link: internet, replica: pickReplica }
      )
      const status = outcome._tag === "answered" ? outcome.reply.status : outcome._tag
      trace.add("provider", `delivers: ${status}`)
      this.world.wake("payments", 10_000)
      if (status === 202 || tries === 0) return
      yield* Effect.sleep(10_000)
      yield* this.deliver(deliveryId, tries - 1)
    })
  }

  /** The provider's year: periods end, cards fail and are replaced, and old deliveries are forgotten. */
  readonly year: Effect.Effect<void> = Effect.gen({ self: this }, function* () {
    const { agenda, endAt, levers } = this.world
    const { state } = levers
    while (agenda.now < endAt) {
      yield* Effect.sleep(hourMs - (agenda.now % hourMs))
      state.declines = this.chance.isTrue(0.1)
      yield* levers.advance
      this.post()
      if (agenda.now % dayMs !== 0) continue
      state.outbox = state.outbox.slice(-500)
      for (const { id, status } of state.subscriptions.values()) {
        if (status === "past_due" && this.chance.isTrue(0.2)) yield* levers.recover(id)
      }
      this.post()
    }
  })

  private subscriptionOf({ account }: Person): Subscription | undefined {
    const all = Array.from(this.world.levers.state.subscriptions.values())
    return all.findLast(({ accountId, status }) => accountId === account.id && status !== "ended")
  }

  private ordersOf({ account }: Person): ReadonlyArray<Order> {
    return [...this.world.levers.state.orders.values()].filter(({ accountId }) => accountId === account.id)
  }

  /** Calls one of our routes. Returns the reply if the call succeeded. */
  private ask(me: Person, method: "GET" | "POST", path: string, body?: unknown) {
    return Effect.gen({ self: this }, function* () {
      const ended = yield* me.call({ method, path, as: "session", ...(body === undefined ? {} : { body }) })
      this.move(me.account.id)
      this.post()
      if (ended?.outcome._tag !== "answered") return undefined
      const { reply } = ended.outcome
      this.auditor.answered(ended.request, reply, 0)
      return reply.status < 300 ? JSON.parse(reply.text) : undefined
    })
  }

  private buy(me: Person, path: string, body: unknown) {
    return Effect.gen({ self: this }, function* () {
      const page: { readonly checkout_url: string } | undefined = yield* this.ask(me, "POST", path, body)
      if (page === undefined || this.chance.isTrue(0.1)) return
      yield* Effect.sleep(this.chance.between(1, 60) * 1_000)
      yield* this.world.levers.pay(page.checkout_url.split("/").at(-1) ?? "")
      this.post()
    })
  }

  /** Corrects usage so that almost no quota is left and packs are spent. */
  private useUp({ account }: Person): void {
    const { store } = this.world
    const { quota = 0, used = 0 } = store.memory.accounts.get(account.id)?.allowance ?? {}
    const credits = used - quota + 1
    if (credits >= 0) return
    const adjustment = { accountId: account.id, credits, to: "quota", reason: "simulated", by: "operator" } as const
    store.now(Effect.flatMap(Ledger, (ledger) => ledger.adjust(adjustment)))
  }

  /** Buys a pack, spends part of it, refunds it, and buys another, which settles the debt (R40). */
  private spendAndReturn(me: Person) {
    return Effect.gen({ self: this }, function* () {
      const { chance } = this
      this.move(me.account.id)
      this.useUp(me)
      yield* this.buy(me, "/v1/billing/packs", { credits: 10_000 })
      yield* Effect.sleep(chance.between(1, 60) * minuteMs)
      for (let turn = 0; turn < 4; turn++) yield* search(me)
      const bought = this.ordersOf(me).findLast(({ purchase }) => purchase.kind === "pack")
      if (bought !== undefined) yield* this.world.levers.void(bought.id)
      this.move(me.account.id)
      this.post()
      yield* Effect.sleep(chance.between(10, 60) * minuteMs)
      yield* this.buy(me, "/v1/billing/packs", { credits: 10_000 })
    })
  }

  /** A customer's payments on one day. */
  act(me: Person): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const { chance } = this
      const { levers } = this.world
      const subscription = this.subscriptionOf(me)
      if (subscription === undefined) return yield* this.buy(me, "/v1/billing/checkout", { plan: chance.pick(plans) })
      const orders = this.ordersOf(me)
      const packs = orders.filter(({ purchase }) => purchase.kind === "pack")
      const order = chance.pick(packs.length > 0 && chance.isTrue(0.7) ? packs : orders)
      const draw = chance.between(1, 100)
      if (draw <= 10) yield* this.spendAndReturn(me)
      else if (draw <= 35) yield* this.buy(me, "/v1/billing/packs", { credits: 10_000 })
      else if (draw <= 55) yield* this.ask(me, "POST", "/v1/billing/plan", { plan: chance.pick(plans) })
      else if (draw <= 65) yield* this.ask(me, "GET", "/v1/billing")
      else if (draw <= 72) yield* this.ask(me, "POST", "/v1/billing/sync", {})
      else if (draw <= 80) yield* levers.cancel(subscription.id, chance.isTrue(0.3))
      else if (draw <= 86) yield* levers.changeAtPortal(subscription.id, chance.pick(plans))
      else if (draw <= 94) yield* levers.refund(order.id, chance.between(1, order.netCents))
      else if (draw <= 97) {
        yield* levers.void(order.id)
        this.post(chance.isTrue(0.5))
      } else yield* levers.dispute(order.id, chance.pick(["open", "lost", "won"] as const))
      this.move(me.account.id)
      this.post()
    })
  }

  /** M1 to M3: once everything has had time to arrive, the books match the provider. */
  judge(people: ReadonlyArray<Person>): void {
    const { agenda, isCalm, levers } = this.world
    if (!isCalm || !levers.state.isUp) return
    for (const { account, kind } of people) {
      if (kind !== "buyer" || !account.isMoving || account.open.size > 0) continue
      // The sweep at midnight covers only changes until a few minutes before it.
      if (account.movedAt > Math.floor(agenda.now / dayMs) * dayMs - 10 * minuteMs) continue
      this.judgeOne(account)
    }
  }

  private judgeOne(account: ModelAccount): void {
    const { agenda, levers, store } = this.world
    const { auditor } = this
    const { disputes, orders, subscriptions } = levers.state
    const stored = store.memory.accounts.get(account.id)
    if (stored === undefined || auditor.hasHold(account.id)) return
    // Reading the allowance opens the current period.
    store.now(Effect.flatMap(Ledger, (ledger) => ledger.allowance(stored.account)))
    const own = [...subscriptions.values()].filter(({ accountId }) => accountId === account.id)
    const live = own.filter(
      ({ pastDueAt, status }) =>
        status === "active" || (status === "past_due" && (pastDueAt ?? 0) + graceMs > agenda.now)
    )
    const [best] = live.toSorted((a, b) => planRank(b.plan) - planRank(a.plan))
    const { figures } = account
    const plan = best?.plan ?? "trial"
    const next = stored.account.next
    const booked = next !== undefined && next.at <= agenda.now ? next.plan : stored.account.plan
    auditor.hold("M2 plan", booked === plan, () => `${account.id} must be on ${plan}, is on ${booked}`)
    const lost = new Set([...disputes.values()].flatMap((it) => (it.status === "lost" ? [it.orderId] : [])))
    let kept = 0
    for (const { accountId, id, netCents, purchase, refundedCents, status } of orders.values()) {
      if (accountId !== account.id || purchase.kind !== "pack") continue
      const granted = store.memory.billing.orders.get(id)?.order
      const isDue = status === "paid" || (granted?.granted ?? 0) > 0
      auditor.hold(
        "M1 granted once",
        !isDue || granted?.granted === purchase.credits,
        () => `${id}: ${granted?.granted}`
      )
      const isKept = status === "paid" && !lost.has(id)
      kept += isKept ? purchase.credits - creditsTakenBack(purchase.credits, netCents, refundedCents) : 0
    }
    const spent = kept - (stored.balance - stored.owed)
    const explain = () => `${account.id} kept ${kept}, has ${stored.balance}, owes ${stored.owed}, spent ${spent}`
    auditor.hold("M3 kept", spent >= account.fromPacks && spent <= account.fromPacks + account.straddling, explain)
    account.fromPacks = spent
    this.judgePeriod(account, best)
    figures.plan = plan
    figures.balance = stored.balance
    figures.owed = stored.owed
    figures.concurrency = stored.account.concurrency
    account.straddling = 0
    account.isBlurred = false
    // Due changes need no notification from the provider: the books apply them by themselves, on time.
    account.isMoving = own.some(
      ({ cancelAtPeriodEnd, pending, status }) =>
        status === "past_due" || (status !== "ended" && (cancelAtPeriodEnd || pending !== undefined))
    )
    account.version++
  }

  /** M2, R31, R39: the provider's period, with the quota of its plan and of upgrades within the period. */
  private judgePeriod(account: ModelAccount, best: Subscription | undefined): void {
    const { agenda, store } = this.world
    const { auditor } = this
    const { figures } = account
    const { allowance } = store.memory.accounts.get(account.id) ?? {}
    if (allowance === undefined) return
    figures.anchor = best?.startedAt
    figures.period = best === undefined ? undefined : { ...best.period }
    const period = allowance.period
    const isOpened = period === undefined || period.end > agenda.now
    const isSame = period?.start === figures.period?.start && period?.end === figures.period?.end
    auditor.hold(
      "M2 period",
      isSame || !isOpened,
      () => `${account.id}: ${JSON.stringify(period)}, at the provider ${JSON.stringify(figures.period)}`
    )
    const used = isOpened ? allowance.used : 0
    const quota = best === undefined ? 100 : this.quotaAt(best)
    const explain = () => `${account.id} must have ${quota}, has ${allowance.quota} and used ${used}`
    if (quota !== undefined && isOpened) auditor.hold("R39 quota", allowance.quota === Math.max(quota, used), explain)
    figures.agreed = best?.plan === undefined ? 100 : quotaOf(best.plan)
    figures.quota = isOpened ? allowance.quota : figures.agreed
    figures.used = used
  }

  /** The quota of a subscription's period. Undefined if the provider's portal changed the plan without an order. */
  private quotaAt({ id, period, plan }: Subscription): number | undefined {
    const orders = [...this.world.levers.state.orders.values()].flatMap(({ createdAt, purchase, status }) =>
      purchase.kind === "plan" && purchase.subscriptionId === id && createdAt >= period.start
        ? [{ ...purchase, createdAt, status }]
        : []
    )
    const [first, ...changes] = orders
    if (first === undefined || first.reason === "update" || orders.some(({ status }) => status !== "paid"))
      return undefined
    if (orders.at(-1)?.plan !== plan) return undefined
    let quota = quotaOf(first.plan)
    let from: (typeof plans)[number] = first.plan
    for (const { createdAt, plan: to } of changes) {
      if (planRank(to) <= planRank(from)) return undefined
      quota += upgraded(quotaOf(from), quotaOf(to), createdAt, period)
      from = to
    }
    return quota
  }
}
