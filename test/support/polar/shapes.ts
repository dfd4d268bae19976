import type { Checkout, Customer, Dispute, Order, Product, Refund, Subscription } from "./objects.ts"

/** The fake's objects in the format of Polar's API. `Document.ts` validates all of them. */

export const organizationId = "0f6f1f0c-0000-4000-8000-0000000000aa"

export const iso = (millis: number): string => new Date(millis).toISOString()
const isoOrNull = (millis: number | undefined): string | null => (millis === undefined ? null : iso(millis))

const stamps = (it: { readonly createdAt: number; readonly modifiedAt?: number | undefined }) => ({
  created_at: iso(it.createdAt),
  modified_at: isoOrNull(it.modifiedAt)
})

const prices = (product: Product) => [
  {
    ...stamps(product),
    id: product.priceId,
    source: "catalog",
    amount_type: "fixed",
    price_currency: product.currency,
    tax_behavior: null,
    is_archived: false,
    product_id: product.id,
    price_amount: product.cents
  }
]

const productFields = (product: Product) => ({
  ...stamps(product),
  id: product.id,
  trial_interval: null,
  trial_interval_count: null,
  name: product.name,
  description: null,
  visibility: "public",
  recurring_interval: product.interval ?? null,
  recurring_interval_count: product.interval === undefined ? null : 1,
  meter_interval: null,
  meter_interval_count: null,
  is_recurring: product.interval !== undefined,
  is_archived: product.isArchived,
  organization_id: organizationId
})

export const productJson = (product: Product) => ({
  ...productFields(product),
  metadata: {},
  prices: prices(product),
  benefits: [],
  medias: [],
  attached_custom_fields: []
})

export const customerJson = (customer: Customer) => ({
  ...stamps(customer),
  id: customer.id,
  metadata: {},
  external_id: customer.externalId ?? null,
  email: customer.email,
  email_verified: false,
  type: "individual",
  name: null,
  billing_name: null,
  billing_address: null,
  tax_id: null,
  locale: null,
  organization_id: organizationId,
  default_payment_method_id: null,
  deleted_at: isoOrNull(customer.deletedAt),
  first_user_event_at: null,
  avatar_url: null
})

const subscriptionFields = (it: Subscription, product: Product) => ({
  ...stamps(it),
  id: it.id,
  amount: product.cents,
  currency: product.currency,
  recurring_interval: "month",
  recurring_interval_count: 1,
  status: it.status,
  current_period_start: iso(it.start),
  current_period_end: iso(it.end),
  current_meter_period_start: null,
  current_meter_period_end: null,
  trial_start: null,
  trial_end: null,
  cancel_at_period_end: it.cancelAtPeriodEnd,
  canceled_at: isoOrNull(it.canceledAt),
  started_at: iso(it.startedAt),
  ends_at: it.cancelAtPeriodEnd ? iso(it.end) : isoOrNull(it.endedAt),
  ended_at: isoOrNull(it.endedAt),
  past_due_at: isoOrNull(it.pastDueAt),
  pause_at_period_end: false,
  paused_at: null,
  resumes_at: null,
  customer_id: it.customerId,
  product_id: it.productId,
  discount_id: null,
  checkout_id: it.checkoutId ?? null,
  seats: null,
  customer_cancellation_reason: null,
  customer_cancellation_comment: null,
  metadata: it.metadata
})

export const subscriptionJson = (it: Subscription, product: Product, customer: Customer) => ({
  ...subscriptionFields(it, product),
  customer: customerJson(customer),
  product: productJson(product),
  discount: null,
  prices: prices(product),
  meters: [],
  pending_update:
    it.pending === undefined
      ? null
      : {
          ...stamps(it.pending),
          id: it.pending.id,
          applies_at: iso(it.pending.appliesAt),
          product_id: it.pending.productId,
          seats: null
        }
})

const paidStatuses = ["paid", "refunded", "partially_refunded"]

export const orderJson = (
  it: Order,
  product: Product,
  customer: Customer,
  subscription: { readonly it: Subscription; readonly product: Product } | undefined
) => ({
  ...stamps(it),
  id: it.id,
  status: it.status,
  paid: paidStatuses.includes(it.status),
  subtotal_amount: it.netCents,
  discount_amount: 0,
  net_amount: it.netCents,
  tax_amount: it.taxCents,
  total_amount: it.netCents + it.taxCents,
  applied_balance_amount: 0,
  due_amount: it.netCents + it.taxCents,
  refunded_amount: it.refundedCents,
  refunded_tax_amount: 0,
  currency: it.currency,
  billing_reason: it.reason,
  billing_name: null,
  billing_address: null,
  invoice_number: it.invoiceNumber,
  is_invoice_generated: false,
  receipt_number: null,
  seats: null,
  customer_id: it.customerId,
  product_id: it.productId,
  discount_id: null,
  subscription_id: it.subscriptionId ?? null,
  checkout_id: it.checkoutId ?? null,
  next_payment_attempt_at: isoOrNull(it.nextAttemptAt),
  metadata: it.metadata,
  platform_fee_amount: 0,
  platform_fee_currency: null,
  customer: customerJson(customer),
  product: { ...productFields(product), metadata: {} },
  discount: null,
  subscription: subscription === undefined ? null : subscriptionFields(subscription.it, subscription.product),
  items: [
    {
      ...stamps(it),
      id: it.itemId,
      label: product.name,
      amount: it.netCents,
      tax_amount: it.taxCents,
      proration: it.reason === "subscription_update",
      product_price_id: product.priceId
    }
  ],
  description: product.name,
  refundable_amount: it.netCents - it.refundedCents,
  refundable_tax_amount: it.taxCents
})

export const refundJson = (it: Refund, order: Order) => ({
  ...stamps(it),
  id: it.id,
  metadata: {},
  status: it.status,
  reason: it.reason,
  amount: it.cents,
  tax_amount: 0,
  currency: order.currency,
  organization_id: organizationId,
  order_id: order.id,
  subscription_id: order.subscriptionId ?? null,
  customer_id: order.customerId,
  revoke_benefits: false,
  dispute: null
})

export const disputeJson = (it: Dispute, order: Order, customer: Customer) => ({
  ...stamps(it),
  id: it.id,
  status: it.status,
  resolved: it.status === "won" || it.status === "prevented",
  closed: it.status === "lost" || it.status === "won",
  amount: it.cents,
  tax_amount: 0,
  currency: order.currency,
  reason: null,
  evidence_due_by: null,
  past_due: false,
  order_id: order.id,
  payment_id: it.paymentId,
  customer: customerJson(customer),
  case_id: null
})

const billingFields = { country: "required", state: "disabled", city: "disabled", postal_code: "disabled" }

export const checkoutJson = (it: Checkout, product: Product, customer: Customer | undefined, origin: string) => {
  const { attached_custom_fields: _, metadata: __, ...shown } = productJson(product)
  const price = { ...prices(product)[0], price_amount: it.cents, source: it.isAdHoc ? "ad_hoc" : "catalog" }
  return {
    ...stamps(it),
    id: it.id,
    custom_field_data: {},
    payment_processor: "stripe",
    status: it.status,
    client_secret: it.clientSecret,
    url: `${origin}/checkout/${it.clientSecret}`,
    expires_at: iso(it.expiresAt),
    success_url: it.successUrl.replaceAll("{CHECKOUT_ID}", it.id),
    return_url: it.returnUrl ?? null,
    embed_origin: null,
    amount: it.cents,
    discount_amount: 0,
    net_amount: it.cents,
    tax_amount: 0,
    tax_behavior: "exclusive",
    total_amount: it.cents,
    currency: product.currency,
    allow_trial: false,
    active_trial_interval: null,
    active_trial_interval_count: null,
    trial_end: null,
    organization_id: organizationId,
    product_id: product.id,
    product_price_id: product.priceId,
    discount_id: null,
    allow_discount_codes: false,
    require_billing_address: false,
    is_discount_applicable: false,
    is_free_product_price: false,
    is_payment_required: true,
    is_payment_setup_required: product.interval !== undefined,
    is_payment_form_required: true,
    customer_id: customer?.id ?? null,
    is_business_customer: false,
    customer_name: null,
    customer_email: customer?.email ?? null,
    customer_ip_address: it.address ?? null,
    customer_billing_name: null,
    customer_billing_address: null,
    customer_tax_id: null,
    payment_method_type: null,
    payment_processor_metadata: {},
    billing_address_fields: { ...billingFields, line1: "disabled", line2: "disabled" },
    trial_interval: null,
    trial_interval_count: null,
    metadata: it.metadata,
    external_customer_id: customer?.externalId ?? null,
    products: [shown],
    product: shown,
    product_price: price,
    prices: { [product.id]: [price] },
    discount: null,
    subscription_id: null,
    attached_custom_fields: [],
    customer_metadata: {}
  }
}
