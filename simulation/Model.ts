/*
 * The promises of Quarry as plain arithmetic, written from docs/contract.md. Imports nothing of the product, so that it
 * cannot share its mistakes. Times are Unix milliseconds.
 */

const minute = 60_000
const daysIn = (year: number, month: number): number => new Date(Date.UTC(year, month + 1, 0)).getUTCDate()

/** R31: adds months to a day. In a shorter month, the last day. */
const monthsAfter = (anchor: number, months: number): number => {
  const day = new Date(anchor)
  const month = day.getUTCMonth() + months
  const year = day.getUTCFullYear() + Math.floor(month / 12)
  const inYear = ((month % 12) + 12) % 12
  const first = Date.UTC(year, inYear, Math.min(day.getUTCDate(), daysIn(year, inYear)))
  return first + (anchor % (24 * 60 * minute))
}

/** R31: the period that contains a time. Without an anchor, the UTC month. */
export const periodAround = (anchor: number | undefined, now: number): { start: number; end: number } => {
  const from = anchor ?? Date.UTC(2020, 0, 1)
  const a = new Date(from)
  const b = new Date(now)
  let months = (b.getUTCFullYear() - a.getUTCFullYear()) * 12 + b.getUTCMonth() - a.getUTCMonth()
  if (monthsAfter(from, months) > now) months--
  return { start: monthsAfter(from, months), end: monthsAfter(from, months + 1) }
}

export interface Figures {
  plan: "trial" | "starter" | "growth" | "business" | "custom"
  /** Undefined if usage is unlimited (R23). */
  quota: number | undefined
  /** The quota of future periods. */
  agreed: number | undefined
  concurrency: number
  anchor: number | undefined
  period: { start: number; end: number } | undefined
  used: number
  balance: number
  owed: number
  /** All credits ever charged. */
  charged: number
}

export const newFigures = (
  terms: Pick<Figures, "plan" | "quota" | "concurrency" | "anchor">,
  now: number,
  used = 0
): Figures => ({
  ...terms,
  agreed: terms.quota,
  period: terms.plan === "trial" ? undefined : periodAround(terms.anchor, now),
  used,
  balance: 0,
  owed: 0,
  charged: 0
})

/** R31: after the end of a period, the next one starts with nothing used. */
export const enter = (it: Figures, now: number): void => {
  if (it.period === undefined || now < it.period.end) return
  it.period = periodAround(it.anchor, now)
  it.used = 0
  it.quota = it.agreed
}

/** R30: uses the quota before packs. Returns false if both together are not enough. */
export const spend = (it: Figures, credits: number): boolean => {
  const fromQuota = it.quota === undefined ? credits : Math.min(credits, it.quota - it.used)
  it.used += fromQuota
  it.balance -= credits - fromQuota
  it.charged += credits
  return it.balance >= 0
}

const quotas = { trial: 100, starter: 5_000, growth: 75_000, business: 200_000 }
type Sold = keyof typeof quotas

export const quotaOf = (plan: Sold): number => quotas[plan]

/** R41: of two subscriptions, the higher plan counts. */
export const planRank = (plan: Sold | undefined): number => (plan === undefined ? 0 : Object.keys(quotas).indexOf(plan))

/** R39: credits that an upgrade within a period adds to its quota. */
export const upgraded = (from: number, to: number, at: number, period: { start: number; end: number }): number =>
  Math.floor(((to - from) * (period.end - at)) / (period.end - period.start))

/** R40: credits of a pack that a refund takes back: its share of the price, rounded up. */
export const creditsTakenBack = (credits: number, cents: number, refunded: number): number =>
  refunded === 0 ? 0 : Math.min(credits, Math.ceil((credits * refunded) / cents))

/** R40: new credits first settle the debt. */
export const grant = (it: Figures, credits: number): void => {
  const settled = Math.min(it.owed, credits)
  it.owed -= settled
  it.balance += credits - settled
}

export interface Budget {
  readonly credits: number
  readonly period: "day" | "month" | "life"
}

/** R50: start of the budget period that contains a time. Days and months are UTC. */
export const budgetStart = (period: Budget["period"], now: number): number => {
  const day = new Date(now)
  if (period === "life") return 0
  return Date.UTC(day.getUTCFullYear(), day.getUTCMonth(), period === "day" ? day.getUTCDate() : 1)
}

const hour = 60 * minute

/** R53: waits after failed attempts. The last attempt has none. */
export const eventWaitsMs: ReadonlyArray<number> = [
  5_000,
  5 * minute,
  30 * minute,
  ...[2, 5, 10, 14, 20, 24].map((hours) => hours * hour)
]

/** Maximum tests and redeliveries of an account per rolling minute. */
export const deliveriesPerMinute = 12

/** R53: time after which a failing webhook is disabled. */
export const failingMs = 5 * 24 * hour

/** R76, R19: an error whose text says that the search or row was not sent. */
export const isUnsent = (text: string): boolean => /No search provider was asked|not started and not charged/.test(text)

/** I4: searches with these statuses are charged once, all others never; nor is a search that was not sent. */
export const isCharged = ({ status, text }: { readonly status: number; readonly text: string }): boolean =>
  status === 200 || ((status === 502 || status === 504) && !isUnsent(text))

/** R58, R59: a page that was read is charged once, all others never. */
export const isPageCharged = (status: number): boolean => status === 200

/** Requests per minute: 60 per unit of concurrency, and at least 120 for a session. */
export const limitOf = (kind: "key" | "session" | "marketplace" | "demo", concurrency: number): number =>
  kind === "marketplace" ? 1_200 : kind === "demo" ? 5 : Math.max(concurrency * 60, kind === "session" ? 120 : 0)

/** R27: the rolling minute of one credential, counted from all admitted requests. */
export class Window {
  private readonly admitted: Array<number> = []

  /** The decision for a request at this time. */
  decide(limit: number, now: number): { admitted: boolean; remaining: number; reset: number } {
    while ((this.admitted[0] ?? now) <= now - minute) this.admitted.shift()
    const admitted = this.admitted.length < limit
    if (admitted) this.admitted.push(now)
    const oldest = this.admitted[0] ?? now
    return {
      admitted,
      remaining: Math.max(0, limit - this.admitted.length),
      reset: Math.ceil((oldest + minute) / 1_000)
    }
  }
}
