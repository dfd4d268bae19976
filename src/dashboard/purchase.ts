import type { Answer } from "./api/routes.ts"

export type Billing = Answer<"GET /v1/billing">
type Plan = Billing["plans"][number]["plan"]

export const planName = ({ plan: own, plan_name: ownName, plans }: Billing, plan: Billing["plan"]): string =>
  plans.find((offer) => offer.plan === plan)?.name ?? (plan === own ? ownName : plan)

export type Errand =
  | { readonly _tag: "plan"; readonly plan: Plan }
  /** `before` is the balance minus the debt, before the purchase. */
  | { readonly _tag: "pack"; readonly credits: number; readonly before: number }
  | { readonly _tag: "portal" }

/** An upgrade starts at once (R39). Plans are ordered from the least to the most. */
export const isUpgrade = (plans: Billing["plans"], from: Plan, to: Plan): boolean =>
  plans.findIndex(({ plan }) => plan === to) > plans.findIndex(({ plan }) => plan === from)

/** True once the purchase is recorded. The page shows nothing as paid before that. */
export const isBooked = (errand: Errand, { balance, owed, plan, subscription }: Billing): boolean => {
  if (errand._tag === "plan") return plan === errand.plan && subscription?.plan === errand.plan
  // Searches may spend credits meanwhile, but hardly half a pack.
  return errand._tag === "pack" && balance - owed - errand.before >= errand.credits / 2
}

/** Searches that an upgrade adds to the running period, by the share of the time that is left (R39). */
export const quotaGain = (more: number, start: number, end: number, now: number): number =>
  Math.floor((more * Math.min(Math.max(end - now, 0), end - start)) / (end - start))

export interface Cost {
  /** In US cents, before tax. */
  readonly soFar: number
  /** For the period, if searches go on at this pace; undefined if it is too early to tell. */
  readonly forecast: number | undefined
  /** Searches beyond the quota at this pace. */
  readonly over: number
  /** Pack credits to buy for the part of `over` that the balance does not cover. */
  readonly bought: number
  readonly next: { readonly at: string; readonly price: number } | undefined
}

/** Packs are only sold whole; the first is the smallest. */
const packsFor = (credits: number, [smallest]: Billing["packs"]) => {
  const count = smallest === undefined ? 0 : Math.ceil(credits / smallest.credits)
  return { price: count * (smallest?.price ?? 0), credits: count * (smallest?.credits ?? 0) }
}

/**
 * The plan's price for this period, which is nothing for a plan that the operator gave. The forecast adds the packs that
 * this pace would need.
 */
export const costOf = (
  { balance, packs, plans, subscription }: Pick<Billing, "balance" | "packs" | "plans" | "subscription">,
  used: number,
  elapsed: number
): Cost => {
  const offerOf = (plan: Plan | null) => plans.find((offer) => offer.plan === plan)
  const offer = offerOf(subscription?.plan ?? null)
  if (subscription === null || offer === undefined)
    return { soFar: 0, forecast: 0, over: 0, bought: 0, next: undefined }
  const isKnown = elapsed >= minElapsedShare
  const over = isKnown ? Math.max(0, Math.round(used / elapsed) - offer.requests) : 0
  const bought = packsFor(Math.max(0, over - balance), packs)
  const pending = offerOf(subscription.pending_plan)
  return {
    soFar: offer.price,
    forecast: isKnown ? offer.price + bought.price : undefined,
    over,
    bought: bought.credits,
    next: subscription.cancel_at_period_end
      ? undefined
      : { at: subscription.current_period_end, price: (pending ?? offer).price }
  }
}

/** A day of a month. Less is too little to predict from. */
const minElapsedShare = 1 / 31

/** The one offer to recommend: the least plan above the present one. */
export const recommended = ({
  plan,
  plans,
  subscription
}: Pick<Billing, "plan" | "plans" | "subscription">): Plan | undefined => {
  const present = plans.findIndex((offer) => offer.plan === (subscription?.plan ?? plan))
  return plans[present + 1]?.plan
}

const key = "quarry.errand"

/** Kept in this tab only, so that the page knows on the way back what to wait for. */
export const remember = (errand: Errand): void => sessionStorage.setItem(key, JSON.stringify(errand))

export const recall = (): Errand | undefined => {
  const text = sessionStorage.getItem(key)
  sessionStorage.removeItem(key)
  // Only `remember` writes there.
  return text === null ? undefined : (JSON.parse(text) as Errand)
}
