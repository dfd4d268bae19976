import { Effect, Schema } from "effect"
import { currency, type SoldPlan, soldPlans } from "../../domain/billing/Purchase.ts"
import type { PlanOffer, PlanTable } from "../../domain/credits/Plan.ts"
import { type Finding, ProviderUnavailable } from "../../services/billing/PaymentProvider.ts"
import { type PolarAnswer, type PolarCall, type PolarClient, servers } from "./PolarClient.ts"
import type { PolarOptions } from "./PolarOptions.ts"

/** Events that update the books promptly. Without them, updates wait for the next sweep. */
export const neededEvents = [
  "order.paid",
  "order.updated",
  "order.refunded",
  "refund.created",
  "refund.updated",
  "subscription.created",
  "subscription.updated",
  "customer.deleted"
] as const

const failuresUntilDisabled = 10

const maxItems = "100"

const nobody = "00000000-0000-4000-8000-000000000000"

const scopeCalls: ReadonlyArray<readonly [scope: string, call: PolarCall]> = [
  // Polar checks the scope before it rejects the empty body, so these calls create nothing.
  ["checkouts:write", { method: "POST", path: "/v1/checkouts/", body: {} }],
  ["checkouts:read", { method: "GET", path: `/v1/checkouts/${nobody}` }],
  ["customers:write", { method: "POST", path: "/v1/customers/", body: {} }],
  ["customers:read", { method: "GET", path: "/v1/customers/", query: [["limit", "1"]] }],
  ["customer_sessions:write", { method: "POST", path: "/v1/customer-sessions/", body: {} }],
  [
    "subscriptions:write",
    { method: "PATCH", path: `/v1/subscriptions/${nobody}`, body: { cancel_at_period_end: false } }
  ],
  ["subscriptions:read", { method: "GET", path: "/v1/subscriptions/", query: [["limit", "1"]] }],
  ["orders:read", { method: "GET", path: "/v1/orders/", query: [["limit", "1"]] }],
  ["refunds:read", { method: "GET", path: "/v1/refunds/", query: [["limit", "1"]] }],
  ["disputes:read", { method: "GET", path: "/v1/disputes/", query: [["limit", "1"]] }],
  ["products:read", { method: "GET", path: "/v1/products/", query: [["limit", "1"]] }],
  ["webhooks:read", { method: "GET", path: "/v1/webhooks/endpoints", query: [["limit", "1"]] }]
]

const Price = Schema.Struct({
  amount_type: Schema.optionalKey(Schema.String),
  price_amount: Schema.optionalKey(Schema.NullOr(Schema.Int)),
  price_currency: Schema.optionalKey(Schema.String),
  is_archived: Schema.optionalKey(Schema.Boolean)
})

const Product = Schema.Struct({
  id: Schema.String,
  is_archived: Schema.Boolean,
  is_recurring: Schema.Boolean,
  recurring_interval: Schema.NullOr(Schema.String),
  recurring_interval_count: Schema.NullOr(Schema.Int),
  prices: Schema.Array(Price)
})
type Product = typeof Product.Type

const Endpoint = Schema.Struct({
  id: Schema.String,
  url: Schema.String,
  format: Schema.String,
  enabled: Schema.Boolean,
  events: Schema.Array(Schema.String)
})

const items = <A>(schema: Schema.Codec<A, unknown>) => Schema.Struct({ items: Schema.Array(schema) })

const finding = (subject: Finding["subject"], fault: string | undefined, good: string): Finding => ({
  subject,
  ok: fault === undefined,
  message: fault ?? good
})

const whereOf = ({ baseUrl }: PolarOptions): string =>
  Object.values(servers).some((address) => address === baseUrl) ? "" : ` (POLAR_BASE_URL is ${baseUrl})`

const tokenFinding = ({ status }: PolarAnswer, where: string): Finding =>
  finding(
    "token",
    status === 401
      ? `Polar does not accept POLAR_ACCESS_TOKEN: create a new one in this server's organization${where}`
      : undefined,
    "Polar accepts the token"
  )

const scopeFinding = Effect.fnUntraced(function* (client: PolarClient) {
  const missing: Array<string> = []
  for (const [scope, call] of scopeCalls) {
    const { status } = yield* client.exchange(call)
    if (status === 403) missing.push(scope)
  }
  const fault = missing.length === 0 ? undefined : `the token lacks ${missing.join(", ")}: add the scopes at Polar`
  return finding("scopes", fault, `the token has all ${scopeCalls.length} scopes`)
})

const dollars = (cents: number): string => `$${(cents / 100).toFixed(2)}`

const planFault = (product: Product, { priceCents }: PlanOffer): string | undefined => {
  if (product.recurring_interval !== "month" || (product.recurring_interval_count ?? 1) !== 1) {
    return "is not billed every month"
  }
  const prices = product.prices.filter((price) => price.is_archived !== true && price.price_currency === currency)
  const [price] = prices
  if (prices.length !== 1 || price?.amount_type !== "fixed")
    return `does not have exactly one fixed price in ${currency}`
  const cents = price.price_amount ?? 0
  return cents === priceCents ? undefined : `costs ${dollars(cents)} and not ${dollars(priceCents)}`
}

const productFault = (product: Product | undefined, plan: SoldPlan | "pack", plans: PlanTable): string | undefined => {
  if (product === undefined) return "does not exist"
  if (product.is_archived) return "is archived"
  if (plan !== "pack") return planFault(product, plans[plan])
  return product.is_recurring ? "is a subscription, and packs are bought once" : undefined
}

const productFindings = Effect.fnUntraced(function* (
  client: PolarClient,
  { products }: PolarOptions,
  plans: PlanTable
) {
  const names = [...soldPlans, "pack"] as const
  const query = [...names.map((name) => ["id", products[name]] as const), ["limit", maxItems] as const]
  const found = yield* client.demand(items(Product), { method: "GET", path: "/v1/products/", query })
  return names.map((name) => {
    const variable = `POLAR_PRODUCT_${name.toUpperCase()}`
    const fault = productFault(
      found.items.find(({ id }) => id === products[name]),
      name,
      plans
    )
    return finding("products", fault && `the product of ${variable} ${fault}`, `the product of ${variable} is correct`)
  })
})

const endpointFault = (endpoint: typeof Endpoint.Type | undefined, url: string): string | undefined => {
  if (endpoint === undefined) return `Polar has no webhook endpoint for ${url}: add it`
  if (!endpoint.enabled) return "Polar has disabled the webhook endpoint: fix the cause, then enable it there"
  if (endpoint.format !== "raw") return `the webhook endpoint has the format ${endpoint.format}: set it to raw`
  const missing = neededEvents.filter((event) => !endpoint.events.includes(event))
  return missing.length === 0 ? undefined : `the webhook endpoint lacks the events ${missing.join(", ")}: add them`
}

/** Polar lists the newest first. */
const deliveryFault = Effect.fnUntraced(function* (client: PolarClient, endpointId: string) {
  const latest = yield* client.demand(items(Schema.Struct({ succeeded: Schema.Boolean })), {
    method: "GET",
    path: "/v1/webhooks/deliveries",
    query: [
      ["endpoint_id", endpointId],
      ["limit", `${failuresUntilDisabled}`]
    ]
  })
  const failed = latest.items.filter(({ succeeded }) => !succeeded).length
  return failed === 0
    ? undefined
    : `${failed} of the latest ${latest.items.length} deliveries failed: Polar disables the endpoint after ${failuresUntilDisabled} in a row`
})

const webhookFinding = Effect.fnUntraced(function* (client: PolarClient, { webhookUrl }: PolarOptions) {
  const call = { method: "GET", path: "/v1/webhooks/endpoints", query: [["limit", maxItems]] } as const
  const found = yield* client.demand(items(Endpoint), call)
  const ours = found.items.filter(({ url }) => url === webhookUrl)
  const endpoint = ours.find(({ enabled }) => enabled) ?? ours[0]
  const fault = endpointFault(endpoint, webhookUrl) ?? (endpoint && (yield* deliveryFault(client, endpoint.id)))
  return finding("webhooks", fault, "the webhook endpoint is enabled and its deliveries arrive")
})

export const check = (
  client: PolarClient,
  options: PolarOptions,
  plans: PlanTable
): Effect.Effect<ReadonlyArray<Finding>, ProviderUnavailable> =>
  Effect.gen(function* () {
    const answer = yield* client.exchange({ method: "GET", path: "/v1/products/", query: [["limit", "1"]] })
    const token = tokenFinding(answer, whereOf(options))
    if (!token.ok) return [token]
    const scopes = yield* scopeFinding(client)
    if (!scopes.ok) return [token, scopes]
    return [token, scopes, ...(yield* productFindings(client, options, plans)), yield* webhookFinding(client, options)]
  }).pipe(
    Effect.mapError(
      ({ reason, ...rest }) => new ProviderUnavailable({ ...rest, reason: `${reason}${whereOf(options)}` })
    ),
    Effect.withSpan("PaymentProvider.check")
  )
