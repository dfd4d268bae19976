/*
 * The promises of Quarry as plain arithmetic. It is written from docs/contract.md and imports nothing of the product, so that
 * a mistake there is not made here too. Times are Unix milliseconds.
 */

const minute = 60_000
const daysIn = (year: number, month: number): number => new Date(Date.UTC(year, month + 1, 0)).getUTCDate()

/** R31: so many months after a day, at the latest on the month's last day. */
const monthsAfter = (anchor: number, months: number): number => {
  const day = new Date(anchor)
  const month = day.getUTCMonth() + months
  const year = day.getUTCFullYear() + Math.floor(month / 12)
  const inYear = ((month % 12) + 12) % 12
  const first = Date.UTC(year, inYear, Math.min(day.getUTCDate(), daysIn(year, inYear)))
  return first + (anchor % (24 * 60 * minute))
}

/** R31: the period around a moment. Without an anchor it is the UTC month. */
export const periodAround = (anchor: number | undefined, now: number): { start: number; end: number } => {
  const from = anchor ?? Date.UTC(2020, 0, 1)
  const a = new Date(from)
  const b = new Date(now)
  let months = (b.getUTCFullYear() - a.getUTCFullYear()) * 12 + b.getUTCMonth() - a.getUTCMonth()
  if (monthsAfter(from, months) > now) months--
  return { start: monthsAfter(from, months), end: monthsAfter(from, months + 1) }
}

/** The terms of an account, and what it has used of them. */
export interface Figures {
  plan: "trial" | "starter" | "growth" | "business" | "custom"
  /** Undefined where usage has no limit (R23). */
  quota: number | undefined
  /** The quota of the periods to come. */
  agreed: number | undefined
  concurrency: number
  anchor: number | undefined
  period: { start: number; end: number } | undefined
  used: number
  balance: number
  owed: number
  /** All credits that were ever charged. */
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

/** R31: when a period is over, the next one begins with nothing used. */
export const enter = (it: Figures, now: number): void => {
  if (it.period === undefined || now < it.period.end) return
  it.period = periodAround(it.anchor, now)
  it.used = 0
  it.quota = it.agreed
}

/** R30: the quota first, then the packs. False where both together do not have so many. */
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

/** R41: of two subscriptions the higher plan counts. */
export const planRank = (plan: Sold | undefined): number => (plan === undefined ? 0 : Object.keys(quotas).indexOf(plan))

/** R39: what an upgrade inside a period adds to its quota. */
export const upgraded = (from: number, to: number, at: number, period: { start: number; end: number }): number =>
  Math.floor(((to - from) * (period.end - at)) / (period.end - period.start))

/** R40: credits of a pack that a refund takes back: its share of the price, rounded up. */
export const creditsTakenBack = (credits: number, cents: number, refunded: number): number =>
  refunded === 0 ? 0 : Math.min(credits, Math.ceil((credits * refunded) / cents))

/** R40: what is owed is settled from new credits first. */
export const grant = (it: Figures, credits: number): void => {
  const settled = Math.min(it.owed, credits)
  it.owed -= settled
  it.balance += credits - settled
}

export interface Budget {
  readonly credits: number
  readonly period: "day" | "month" | "life"
}

/** R50: the begin of a budget's period around a moment. Days and months are those of UTC. */
export const budgetStart = (period: Budget["period"], now: number): number => {
  const day = new Date(now)
  if (period === "life") return 0
  return Date.UTC(day.getUTCFullYear(), day.getUTCMonth(), period === "day" ? day.getUTCDate() : 1)
}

const hour = 60 * minute

/** R53: the waits after a failed attempt. After the last there is none. */
export const eventWaitsMs: ReadonlyArray<number> = [
  5_000,
  5 * minute,
  30 * minute,
  ...[2, 5, 10, 14, 20, 24].map((hours) => hours * hour)
]

/** Tests and redeliveries of an account in a rolling minute. */
export const deliveriesPerMinute = 12

/** R53: a webhook that fails for so long is disabled. */
export const failingMs = 5 * 24 * hour

/** I4: a search that was answered with one of these was charged once, and any other not at all. */
export const isCharged = (status: number): boolean => status === 200 || status === 502 || status === 504

/** R58, R59: a page that was read was charged once, and any other not at all. */
export const isPageCharged = (status: number): boolean => status === 200

/** The limit on requests of a minute: 60 for each unit of concurrency, and at least 120 for a session. */
export const limitOf = (kind: "key" | "session" | "marketplace" | "demo", concurrency: number): number =>
  kind === "marketplace" ? 1_200 : kind === "demo" ? 5 : Math.max(concurrency * 60, kind === "session" ? 120 : 0)

/** R27: the rolling minute of one credential, recounted from all requests that were admitted. */
export class Window {
  private readonly admitted: Array<number> = []

  /** The decision that a request of this moment must get. */
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
