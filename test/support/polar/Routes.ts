import type { Deliveries } from "./Deliveries.ts"
import { requestFault } from "./Document.ts"
import { invalid, type Model, missing, type Proration, Refused } from "./Model.ts"
import type { Metadata } from "./objects.ts"
import * as shapes from "./shapes.ts"

/** The part of Polar's API that Quarry uses. */

export interface Call {
  readonly id: string
  readonly query: URLSearchParams
  /** Already validated against the document. */
  readonly body: Readonly<Record<string, unknown>>
  readonly model: Model
  readonly deliveries: Deliveries
  readonly origin: string
}

export interface Answer {
  readonly status: number
  readonly json?: object
}

export interface Route {
  readonly method: string
  /** As in the document. */
  readonly path: string
  readonly scope: string
  readonly run: (call: Call) => Answer
}

const maxPageSize = 100

const page = (query: URLSearchParams, items: ReadonlyArray<object>): Answer => {
  const limit = Math.min(Number(query.get("limit") ?? 10), maxPageSize)
  const number = Number(query.get("page") ?? 1)
  const pagination = { total_count: items.length, max_page: Math.ceil(items.length / limit) }
  return { status: 200, json: { items: items.slice((number - 1) * limit, number * limit), pagination } }
}

/** Sorts by creation, newest first unless the query says otherwise. */
const sorted = <A extends { readonly createdAt: number }>(query: URLSearchParams, items: Iterable<A>): Array<A> => {
  const sign = query.get("sorting")?.startsWith("-") === false ? 1 : -1
  return [...items].sort((a, b) => sign * (a.createdAt - b.createdAt))
}

const fits = (query: URLSearchParams, name: string, value: string | undefined): boolean => {
  const asked = query.getAll(name)
  return asked.length === 0 || (value !== undefined && asked.includes(value))
}

const text = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined)

/** The ad hoc price of a product in the body. */
const adHocCents = (prices: unknown, productId: string): number | undefined => {
  if (typeof prices !== "object" || prices === null) return undefined
  const list: unknown = Object.entries(prices).find(([id]) => id === productId)?.[1]
  const price: unknown = Array.isArray(list) ? list[0] : undefined
  if (typeof price !== "object" || price === null || !("price_amount" in price)) return undefined
  return typeof price.price_amount === "number" ? price.price_amount : undefined
}

const createCheckout = ({ body, model, origin }: Call): Answer => {
  const [productId = ""] = Array.isArray(body.products) ? body.products.map(String) : []
  const product = model.product(productId)
  if (product.isArchived) throw invalid("products", "Product is archived.")
  const customerId = text(body.customer_id)
  const customer = customerId === undefined ? undefined : model.customers.get(customerId)
  if (customerId !== undefined && (customer === undefined || customer.deletedAt !== undefined)) {
    throw invalid("customer_id", "Customer does not exist.")
  }
  const adHoc = adHocCents(body.prices, productId)
  const checkout = model.openCheckout({
    productId,
    customerId,
    cents: adHoc ?? product.cents,
    isAdHoc: adHoc !== undefined,
    successUrl: text(body.success_url) ?? `${origin}/thanks`,
    returnUrl: text(body.return_url),
    address: text(body.customer_ip_address),
    // The document defines the allowed metadata.
    metadata: (body.metadata ?? {}) as Metadata
  })
  return { status: 201, json: shapes.checkoutJson(checkout, product, customer, origin) }
}

const getCheckout = ({ id, model, origin }: Call): Answer => {
  const checkout = model.checkouts.get(id)
  if (checkout === undefined) throw missing()
  const customer = model.customers.get(checkout.customerId ?? "")
  return { status: 200, json: shapes.checkoutJson(checkout, model.product(checkout.productId), customer, origin) }
}

const listCustomers = ({ model, query }: Call): Answer => {
  const email = query.get("email")?.toLowerCase()
  const found = [...model.customers.values()].filter(
    (it) => it.deletedAt === undefined && (email === undefined || it.email.toLowerCase() === email)
  )
  return page(query, sorted(query, found).map(shapes.customerJson))
}

const byExternalId = ({ id, model }: Call) => {
  const found = [...model.customers.values()].find((it) => it.externalId === id && it.deletedAt === undefined)
  if (found === undefined) throw missing()
  return found
}

const listSubscriptions = ({ model, query }: Call): Answer => {
  const found = [...model.subscriptions.values()].filter(
    (it) =>
      fits(query, "customer_id", it.customerId) &&
      fits(query, "product_id", it.productId) &&
      fits(query, "status", it.status) &&
      fits(query, "external_customer_id", model.customer(it.customerId).externalId)
  )
  return page(
    query,
    sorted(query, found).map((it) => model.subscriptionJson(it))
  )
}

const updateSubscription = ({ body, id, model }: Call): Answer => {
  model.subscription(id)
  const change = () => {
    if ("pending_update" in body) return model.clearPending(id)
    if (typeof body.cancel_at_period_end === "boolean") return model.setCancel(id, body.cancel_at_period_end)
    if ("revoke" in body) return model.revoke(id)
    const productId = text(body.product_id)
    if (productId === undefined) throw invalid("product_id", "This fake does not know such a change.")
    // The document defines the allowed values.
    return model.changeProduct(id, productId, (body.proration_behavior ?? "prorate") as Proration)
  }
  return { status: 200, json: model.subscriptionJson(change()) }
}

const createSession = ({ body, model, origin }: Call): Answer => {
  const external = text(body.external_customer_id)
  const customer = [...model.customers.values()].find(
    (it) =>
      it.deletedAt === undefined && (external === undefined ? it.id === body.customer_id : it.externalId === external)
  )
  if (customer === undefined) throw invalid("customer_id", "Customer does not exist.")
  const session = model.openSession(customer.id, text(body.return_url))
  return {
    status: 201,
    json: {
      created_at: shapes.iso(session.createdAt),
      modified_at: null,
      id: session.id,
      token: session.token,
      expires_at: shapes.iso(session.expiresAt),
      return_url: session.returnUrl ?? null,
      customer_portal_url: `${origin}/portal/${session.token}`,
      customer_id: customer.id,
      customer: shapes.customerJson(customer)
    }
  }
}

const listOrders = ({ model, query }: Call): Answer => {
  const after = Date.parse(query.get("created_after") ?? "1970-01-01")
  const found = [...model.orders.values()].filter(
    (it) =>
      fits(query, "customer_id", it.customerId) &&
      fits(query, "product_id", it.productId) &&
      fits(query, "subscription_id", it.subscriptionId) &&
      fits(query, "status", it.status) &&
      it.createdAt >= after
  )
  return page(
    query,
    sorted(query, found).map((it) => model.orderJson(it))
  )
}

const listRefunds = ({ model, query }: Call): Answer => {
  const found = [...model.refunds.values()].filter(
    (it) => fits(query, "order_id", it.orderId) && fits(query, "succeeded", `${it.status === "succeeded"}`)
  )
  return page(
    query,
    sorted(query, found).map((it) => shapes.refundJson(it, model.order(it.orderId)))
  )
}

const listDisputes = ({ model, query }: Call): Answer => {
  const found = [...model.disputes.values()].filter(
    (it) => fits(query, "order_id", it.orderId) && fits(query, "status", it.status)
  )
  const toJson = (it: (typeof found)[number]) => {
    const order = model.order(it.orderId)
    return shapes.disputeJson(it, order, model.customer(order.customerId))
  }
  return page(query, sorted(query, found).map(toJson))
}

const endpointId = "0f6f1f0c-0000-4000-8000-0000000000bb"

const listEndpoints = ({ deliveries: { endpoint }, query }: Call): Answer =>
  page(
    query,
    endpoint === undefined
      ? []
      : [
          {
            created_at: shapes.iso(0),
            modified_at: null,
            id: endpointId,
            url: endpoint.url,
            name: null,
            format: "raw",
            secret: endpoint.secret,
            organization_id: shapes.organizationId,
            events: endpoint.events,
            enabled: endpoint.enabled
          }
        ]
  )

const listDeliveries = ({ deliveries, query }: Call): Answer =>
  page(
    query,
    deliveries.log
      .filter(() => fits(query, "endpoint_id", endpointId))
      .map(({ at, status }) => ({
        created_at: shapes.iso(at),
        http_code: status === 0 ? null : status,
        succeeded: status >= 200 && status < 300
      }))
      .reverse()
  )

const ok = (json: object): Answer => ({ status: 200, json })

export const routes: ReadonlyArray<Route> = [
  { method: "POST", path: "/v1/checkouts/", scope: "checkouts:write", run: createCheckout },
  { method: "GET", path: "/v1/checkouts/{id}", scope: "checkouts:read", run: getCheckout },
  {
    method: "POST",
    path: "/v1/customers/",
    scope: "customers:write",
    run: ({ body, model }) => {
      const made = model.createCustomer(text(body.external_id), text(body.email) ?? "")
      return { status: 201, json: shapes.customerJson(made) }
    }
  },
  { method: "GET", path: "/v1/customers/", scope: "customers:read", run: listCustomers },
  {
    method: "GET",
    path: "/v1/customers/external/{external_id}",
    scope: "customers:read",
    run: (call) => ok(shapes.customerJson(byExternalId(call)))
  },
  {
    method: "DELETE",
    path: "/v1/customers/external/{external_id}",
    scope: "customers:write",
    run: (call) => {
      call.model.deleteCustomer(byExternalId(call).id)
      return { status: 204 }
    }
  },
  {
    method: "DELETE",
    path: "/v1/customers/{id}",
    scope: "customers:write",
    run: ({ id, model }) => {
      model.deleteCustomer(id)
      return { status: 204 }
    }
  },
  { method: "GET", path: "/v1/subscriptions/", scope: "subscriptions:read", run: listSubscriptions },
  {
    method: "GET",
    path: "/v1/subscriptions/{id}",
    scope: "subscriptions:read",
    run: ({ id, model }) => ok(model.subscriptionJson(model.subscription(id)))
  },
  { method: "PATCH", path: "/v1/subscriptions/{id}", scope: "subscriptions:write", run: updateSubscription },
  {
    method: "DELETE",
    path: "/v1/subscriptions/{id}",
    scope: "subscriptions:write",
    run: ({ id, model }) => ok(model.subscriptionJson(model.revoke(id)))
  },
  { method: "POST", path: "/v1/customer-sessions/", scope: "customer_sessions:write", run: createSession },
  { method: "GET", path: "/v1/orders/", scope: "orders:read", run: listOrders },
  {
    method: "GET",
    path: "/v1/orders/{id}",
    scope: "orders:read",
    run: ({ id, model }) => ok(model.orderJson(model.order(id)))
  },
  { method: "GET", path: "/v1/refunds/", scope: "refunds:read", run: listRefunds },
  { method: "GET", path: "/v1/disputes/", scope: "disputes:read", run: listDisputes },
  {
    method: "GET",
    path: "/v1/products/",
    scope: "products:read",
    run: ({ model, query }) =>
      page(
        query,
        sorted(query, model.products.values())
          .filter((it) => fits(query, "id", it.id))
          .map(shapes.productJson)
      )
  },
  { method: "GET", path: "/v1/webhooks/endpoints", scope: "webhooks:read", run: listEndpoints },
  { method: "GET", path: "/v1/webhooks/deliveries", scope: "webhooks:read", run: listDeliveries }
]

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** The id in a path that matches the route. Undefined if it does not match. */
export const idIn = (route: Route, path: string): string | undefined => {
  const [before = "", after] = route.path.split(/\{[a-z_]+\}/)
  if (after === undefined) return path === route.path ? "" : undefined
  const id = path.startsWith(before) ? decodeURIComponent(path.slice(before.length)) : ""
  return id === "" || id.includes("/") || (route.path.endsWith("{id}") && !uuid.test(id)) ? undefined : id
}

/** Rejects a body that the document does not allow. */
export const checkBody = ({ method, path }: Route, body: unknown): void => {
  const fault = requestFault(method, path, body)
  if (fault !== undefined)
    throw new Refused(422, "RequestValidationError", [{ loc: ["body"], msg: fault, type: "schema" }])
}
