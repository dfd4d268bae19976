import type { Model } from "./Model.ts"
import type { Checkout, CustomerSession } from "./objects.ts"
import { iso } from "./shapes.ts"

/** The pages for a browser: the checkout, the portal, and the fake's controls. */

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;")

const style =
  "body{font:16px system-ui;max-width:60rem;margin:2rem auto;padding:0 1rem}td,th{padding:.2rem .8rem .2rem 0;text-align:left}form{display:inline}button{margin:.2rem}"

const html = (title: string, body: string): string =>
  `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
  `<title>${escaped(title)}</title><style>${style}</style><h1>${escaped(title)}</h1>` +
  `<p>This is a stand-in for Polar on your own machine. No money moves.</p>${body}`

const button = (action: string, label: string, fields: Readonly<Record<string, string>> = {}): string => {
  const inputs = Object.entries(fields).map(
    ([name, value]) => `<input type="hidden" name="${name}" value="${escaped(value)}">`
  )
  return `<form method="post" action="${escaped(action)}">${inputs.join("")}<button>${escaped(label)}</button></form>`
}

const dollars = (cents: number): string => `$${(cents / 100).toFixed(2)}`

export const checkoutPage = (model: Model, checkout: Checkout, message = ""): string => {
  const product = model.product(checkout.productId)
  const path = `/checkout/${checkout.clientSecret}`
  const back = checkout.returnUrl === undefined ? "" : `<p><a href="${escaped(checkout.returnUrl)}">Back</a>`
  const buttons =
    checkout.status === "open" ? button(`${path}/pay`, "Pay") + button(`${path}/decline`, "Decline") : "This is over."
  const monthly = product.interval === undefined ? "" : " a month"
  return html(
    product.name,
    `<p>${dollars(checkout.cents)}${monthly}<p><strong>${escaped(message)}</strong><p>${buttons}${back}`
  )
}

export const portalPage = (model: Model, session: CustomerSession): string => {
  const path = `/portal/${session.token}`
  const subscriptions = [...model.subscriptions.values()].filter((it) => it.customerId === session.customerId)
  const rows = subscriptions.map((it) => {
    const product = model.product(it.productId)
    const cancel = it.cancelAtPeriodEnd
      ? button(path, "Go on", { action: "uncancel", id: it.id })
      : button(path, "Cancel at the period's end", { action: "cancel", id: it.id })
    const changes = [...model.products.values()]
      .filter((other) => other.interval !== undefined && other.id !== product.id)
      .map((other) => button(path, `Change to ${other.name}`, { action: "change", id: it.id, product: other.id }))
    const buttons = it.status === "canceled" ? "" : cancel + changes.join("")
    return `<tr><td>${product.name}<td>${it.status}<td>until ${iso(it.end)}<td>${buttons}`
  })
  const cards = button(path, "A card that pays", { action: "card", card: "pays" })
  const declining = button(path, "A card that declines", { action: "card", card: "declines" })
  const back = session.returnUrl === undefined ? "" : `<p><a href="${escaped(session.returnUrl)}">Back</a>`
  return html("Your purchases", `<table>${rows.join("")}</table><p>${cards}${declining}${back}`)
}

export const controlPage = (model: Model, faults: ReadonlyArray<string>): string => {
  const subscriptions = [...model.subscriptions.values()].map(
    (it) =>
      `<tr><td>${escaped(model.customer(it.customerId).email)}<td>${model.product(it.productId).name}<td>${it.status}` +
      `<td>until ${iso(it.end)}<td>${button("/fake/revoke", "Revoke", { id: it.id })}`
  )
  const orders = [...model.orders.values()].map(
    (it) =>
      `<tr><td>${it.reason}<td>${model.product(it.productId).name}<td>${dollars(it.netCents)}<td>${it.status}` +
      `<td>${button("/fake/refund", "Refund", { id: it.id })}${button("/fake/dispute", "Lose a dispute", { id: it.id, status: "lost" })}`
  )
  const clock = ["1 day", "7 days", "31 days"].map((by) => button("/fake/clock", `Go on ${by}`, { by }))
  return html(
    "Polar, the fake",
    `<p>The clock: ${iso(model.now())}<p>${clock.join("")}` +
      `<h2>Subscriptions</h2><table>${subscriptions.join("")}</table><h2>Orders</h2><table>${orders.join("")}</table>` +
      (faults.length === 0 ? "" : `<h2>Answers that Polar would not give</h2><pre>${escaped(faults.join("\n"))}</pre>`)
  )
}
