import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { DateTime, Duration, Effect, Layer, Schedule, Schema } from "effect"
import { HttpClient } from "effect/http"
import { currency, type SoldPlan } from "../../domain/billing/Purchase.ts"
import {
  type Buyer,
  CustomerTaken,
  PaymentProvider,
  ProviderBusy,
  ProviderDeclined,
  ProviderMissing,
  ProviderUnavailable,
  type Subscription
} from "../../services/billing/PaymentProvider.ts"
import { Plans } from "../../services/credits/Plans.ts"
import { StoreClock, storeTime } from "../../services/StoreClock.ts"
import * as BoundedDispatcher from "../outgoing/Dispatcher.ts"
import { check } from "./PolarCheck.ts"
import * as PolarClient from "./PolarClient.ts"
import * as objects from "./PolarObjects.ts"
import type { PolarOptions } from "./PolarOptions.ts"
import { signingKeys, verify } from "./PolarSignature.ts"

/** Retries a change that conflicts with another change of the same subscription (R42). */
const whileLocked = { schedule: Schedule.spaced(Duration.seconds(1)), times: 2 }

/** A chargeback is possible for 120 days after a payment, and is decided up to months later. */
const disputeAge = Duration.days(365)

/** Maximum time that a bank may take to complete a refund. Lists are sorted by the refund's creation. */
const refundAge = Duration.days(30)

const openStatuses = ["active", "trialing", "past_due"].map((status) => ["status", status] as const)

const newestFirst = ["sorting", "-created_at"] as const

const isId = Schema.is(Schema.String.check(Schema.isUUID()))

interface Tools {
  readonly client: PolarClient.PolarClient
  readonly options: PolarOptions
}

/** The id may come from a caller, so it is validated before it is used in a path. */
const withId = <A, E>(id: string, use: Effect.Effect<A, E>): Effect.Effect<A, E | ProviderMissing> =>
  isId(id) ? use : Effect.fail(new ProviderMissing({ id }))

const customerByEmail = Effect.fnUntraced(function* (
  { client }: Tools,
  email: string,
  isGone: (accountId: string) => Effect.Effect<boolean>
) {
  const query = [["email", email]] as const
  const customers = yield* client.list(objects.PolarCustomer, { path: "/v1/customers/", query })
  const customer = customers.find((found) => found.email.toLowerCase() === email.toLowerCase())
  if (customer === undefined) {
    const reason = "Polar rejects the customer's email address"
    return yield* new ProviderUnavailable({ reason, retryAfter: undefined })
  }
  const owner = customer.external_id ?? undefined
  if (owner !== undefined && !(yield* isGone(owner))) return yield* new CustomerTaken({ customerId: customer.id })
  return customer.id
})

const customerId = <E>(
  { client }: Tools,
  call: PolarClient.PolarCall,
  status: number,
  otherwise: Effect.Effect<string, E>
): Effect.Effect<string, E | ProviderUnavailable> =>
  client.call(objects.PolarCustomer, call).pipe(
    Effect.map(({ id }) => id),
    Effect.catchTag(
      "PolarError",
      (error): Effect.Effect<string, E | ProviderUnavailable> =>
        error.status === status ? otherwise : Effect.fail(PolarClient.unexpected(error))
    )
  )

/** Polar responds with 422 if the account or the address already has a customer. */
const customerOf = (tools: Tools) =>
  Effect.fn("PaymentProvider.customerOf")(
    (accountId: string, email: string, isGone: (accountId: string) => Effect.Effect<boolean>) => {
      const byEmail = customerByEmail(tools, email, isGone)
      const path = `/v1/customers/external/${encodeURIComponent(accountId)}`
      const byAccount = customerId(tools, { method: "GET", path }, 404, byEmail)
      const body = { external_id: accountId, email }
      return customerId(tools, { method: "POST", path: "/v1/customers/", body }, 422, byAccount)
    }
  )

const readById = <A>({ client }: Tools, schema: Schema.Codec<A, unknown>, path: string, id: string) =>
  withId(id, client.call(schema, { method: "GET", path: `${path}${id}` })).pipe(
    Effect.catchTag("PolarError", (error) =>
      Effect.fail(error.status === 404 ? new ProviderMissing({ id }) : PolarClient.unexpected(error))
    )
  )

/** Has a single product, because buyers can choose between several. */
const checkoutBody = ({ options }: Tools, { accountId, address, customerId }: Buyer, product: string) => {
  const { returnUrl } = options
  return {
    products: [product],
    customer_id: customerId,
    success_url: `${returnUrl}${returnUrl.includes("?") ? "&" : "?"}checkout_id={CHECKOUT_ID}`,
    return_url: returnUrl,
    allow_discount_codes: false,
    allow_trial: false,
    metadata: { [objects.metadataNames.account]: accountId },
    ...(address === undefined ? {} : { customer_ip_address: address })
  }
}

const openCheckout = ({ client }: Tools, body: object) =>
  Effect.map(
    client.demand(objects.PolarCheckout, { method: "POST", path: "/v1/checkouts/", body }),
    objects.checkoutPage
  )

const checkouts = (
  tools: Tools
): Pick<PaymentProvider["Service"], "checkout" | "openPackCheckout" | "openPlanCheckout" | "openPortal"> => ({
  openPlanCheckout: Effect.fn("PaymentProvider.openPlanCheckout")((buyer, plan) => {
    const body = checkoutBody(tools, buyer, tools.options.products[plan])
    const { kind, plan: name } = objects.metadataNames
    return openCheckout(tools, { ...body, metadata: { ...body.metadata, [kind]: "plan", [name]: plan } })
  }),
  openPackCheckout: Effect.fn("PaymentProvider.openPackCheckout")((buyer, { cents, credits }) => {
    const product = tools.options.products.pack
    const body = checkoutBody(tools, buyer, product)
    const names = objects.metadataNames
    const metadata = { ...body.metadata, [names.kind]: "pack", [names.credits]: credits, [names.price]: cents }
    // Tax is added on top. With a tax-inclusive price, the net payment would be less than the quote.
    const price = { amount_type: "fixed", price_amount: cents, price_currency: currency, tax_behavior: "exclusive" }
    return openCheckout(tools, { ...body, metadata, prices: { [product]: [price] } })
  }),
  checkout: Effect.fn("PaymentProvider.checkout")((id) =>
    readById(tools, objects.PolarCheckout, "/v1/checkouts/", id).pipe(
      Effect.map((found) => ({ customerId: found.customer_id ?? undefined, accountId: objects.accountOf(found) })),
      Effect.catchTag("ProviderMissing", () => Effect.undefined)
    )
  ),
  openPortal: Effect.fn("PaymentProvider.openPortal")((customerId) => {
    const body = { customer_id: customerId, return_url: tools.options.returnUrl }
    const call = { method: "POST", path: "/v1/customer-sessions/", body } as const
    return Effect.map(tools.client.demand(objects.PolarCustomerSession, call), objects.portalPage)
  })
})

const changeFailure = (id: string, error: PolarClient.PolarError) => {
  const { name, status } = error
  if (status === 402) return new ProviderDeclined()
  if (status === 409) return new ProviderBusy()
  // A subscription canceled in the meantime accepts no other change until its cancellation is reverted.
  if (name === "AlreadyCanceledSubscription") return new ProviderBusy()
  if (status === 404 || name === "InactiveSubscription") return new ProviderMissing({ id })
  return PolarClient.unexpected(error)
}

const readSubscription = (tools: Tools, id: string) =>
  Effect.map(readById(tools, objects.PolarSubscription, "/v1/subscriptions/", id), (found) =>
    objects.toSubscription(tools.options.products, found)
  )

const patch = ({ client, options }: Tools, id: string, body: object) => {
  const call = { method: "PATCH", path: `/v1/subscriptions/${id}`, body } as const
  return withId(id, client.call(objects.PolarSubscription, call)).pipe(
    Effect.map((changed) => objects.toSubscription(options.products, changed)),
    Effect.retry({ ...whileLocked, while: (error) => error._tag === "PolarError" && error.status === 409 })
  )
}

const change = (tools: Tools, id: string, body: object) =>
  Effect.catchTag(patch(tools, id, body), "PolarError", (error) => Effect.fail(changeFailure(id, error)))

/** For changes without a payment. Polar rejects a change that was already made, which counts as success. */
const changeOnce = (tools: Tools, id: string, body: object, isWanted: (subscription: Subscription) => boolean) =>
  patch(tools, id, body).pipe(
    Effect.catchTag("PolarError", (error) =>
      Effect.flatMap(readSubscription(tools, id), (found) => {
        if (isWanted(found)) return Effect.succeed(found)
        const failure = changeFailure(id, error)
        return Effect.fail(failure._tag === "ProviderDeclined" ? PolarClient.unexpected(error) : failure)
      })
    )
  )

const prorations = { now: "invoice", period_end: "next_period" } as const

const subscriptions = (tools: Tools) => {
  const list = (query: ReadonlyArray<readonly [string, string]>, isPatient: boolean) =>
    tools.client
      .list(
        objects.PolarSubscription,
        { path: "/v1/subscriptions/", query: [...query, ["sorting", "started_at"]] },
        { isPatient }
      )
      .pipe(
        Effect.map((found) => found.map((subscription) => objects.toSubscription(tools.options.products, subscription)))
      )
  return {
    changePlan: Effect.fn("PaymentProvider.changePlan")((id: string, plan: SoldPlan, when: "now" | "period_end") =>
      change(tools, id, { product_id: tools.options.products[plan], proration_behavior: prorations[when] })
    ),
    callOffChange: Effect.fn("PaymentProvider.callOffChange")((id: string) =>
      changeOnce(tools, id, { pending_update: null }, ({ pending }) => pending === undefined)
    ),
    setCancellation: Effect.fn("PaymentProvider.setCancellation")((id: string, isCanceled: boolean) =>
      changeOnce(
        tools,
        id,
        { cancel_at_period_end: isCanceled },
        (subscription) => subscription.status !== "ended" && subscription.cancelAtPeriodEnd === isCanceled
      )
    ),
    subscription: Effect.fn("PaymentProvider.subscription")((id: string) => readSubscription(tools, id)),
    subscriptionsOf: Effect.fn("PaymentProvider.subscriptionsOf")((customerId: string) =>
      list([["customer_id", customerId]], false)
    ),
    openSubscriptions: list(openStatuses, true).pipe(Effect.withSpan("PaymentProvider.openSubscriptions"))
  }
}

const orders = (tools: Tools) => {
  const { client, options } = tools
  const toOrder = (found: typeof objects.PolarOrder.Type) => objects.toOrder(options.products, found)
  const list = (query: ReadonlyArray<readonly [string, string]>, isPatient: boolean) =>
    client
      .list(objects.PolarOrder, { path: "/v1/orders/", query: [...query, ["sorting", "created_at"]] }, { isPatient })
      .pipe(Effect.map((found) => found.map(toOrder)))
  return {
    order: Effect.fn("PaymentProvider.order")((id: string) =>
      Effect.map(readById(tools, objects.PolarOrder, "/v1/orders/", id), toOrder)
    ),
    ordersOf: Effect.fn("PaymentProvider.ordersOf")(
      (filter: { readonly customerId: string } | { readonly subscriptionId: string }) =>
        list(
          ["customerId" in filter ? ["customer_id", filter.customerId] : ["subscription_id", filter.subscriptionId]],
          false
        )
    ),
    ordersSince: Effect.fn("PaymentProvider.ordersSince")((since: number) =>
      list([["created_after", DateTime.formatIso(DateTime.makeUnsafe(since))]], true)
    )
  }
}

const madeSince = <A extends { readonly id: string; readonly created_at: DateTime.Utc }>(
  { client }: Tools,
  schema: Schema.Codec<A, unknown>,
  path: string,
  since: number,
  filter: ReadonlyArray<readonly [string, string]> = []
) =>
  client.list(
    schema,
    { path, query: [...filter, newestFirst] },
    { isPatient: true, goesOn: ({ created_at }) => DateTime.toEpochMillis(created_at) >= since }
  )

const reversals = (tools: Tools, now: Effect.Effect<number>) => {
  const oldestDispute = Effect.map(now, (at) => at - Duration.toMillis(disputeAge))
  return {
    refundedSince: Effect.fn("PaymentProvider.refundedSince")(function* (since: number) {
      const oldest = since - Duration.toMillis(refundAge)
      const refunds = yield* madeSince(tools, objects.PolarRefund, "/v1/refunds/", oldest)
      return [
        ...new Set(refunds.filter((refund) => objects.modifiedAt(refund) >= since).map(({ order_id }) => order_id))
      ]
    }),
    voidOrders: Effect.gen(function* () {
      const filter = [["status", "void"]] as const
      const found = yield* madeSince(tools, objects.PolarOrder, "/v1/orders/", yield* oldestDispute, filter)
      return found.map((order) => objects.toOrder(tools.options.products, order))
    }).pipe(Effect.withSpan("PaymentProvider.voidOrders")),
    disputes: Effect.gen(function* () {
      const found = yield* madeSince(tools, objects.PolarDispute, "/v1/disputes/", yield* oldestDispute)
      return found.map(objects.toDispute)
    }).pipe(Effect.withSpan("PaymentProvider.disputes"))
  }
}

/** Deletes the customer by its stored id, because a reused customer has a different external id (R42). */
const removeCustomer = ({ client }: Tools) =>
  Effect.fn("PaymentProvider.removeCustomer")((customerId: string) => {
    const path = `/v1/customers/${customerId}`
    const call = { method: "DELETE", path, query: [["anonymize", "true"]] } as const
    return withId(customerId, client.call(Schema.Unknown, call)).pipe(
      Effect.asVoid,
      Effect.catchTags({
        ProviderMissing: () => Effect.void,
        PolarError: (error) => (error.status === 404 ? Effect.void : Effect.fail(PolarClient.unexpected(error)))
      })
    )
  })

export const layerNoDeps = (options: PolarOptions) =>
  Layer.effect(
    PaymentProvider,
    Effect.gen(function* () {
      const clock = yield* StoreClock
      const plans = yield* Plans
      const client = PolarClient.make(yield* HttpClient.HttpClient, options)
      const tools: Tools = { client, options }
      const keys = signingKeys(options.webhookSecrets)
      return PaymentProvider.of({
        customerOf: customerOf(tools),
        ...checkouts(tools),
        ...subscriptions(tools),
        ...orders(tools),
        ...reversals(tools, storeTime(clock)),
        removeCustomer: removeCustomer(tools),
        verify: (headers, body) => Effect.flatMap(storeTime(clock), (now) => verify(keys, headers, body, now)),
        check: check(client, options, plans)
      })
    })
  )

export const layer = (options: PolarOptions): Layer.Layer<PaymentProvider, never, Plans | StoreClock> =>
  layerNoDeps(options).pipe(
    Layer.provide(NodeHttpClient.layerUndiciNoDispatcher),
    Layer.provide(BoundedDispatcher.layer({ maxReceivedBytes: PolarClient.maxReceivedBytes }))
  )
