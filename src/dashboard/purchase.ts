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

const key = "quarry.errand"

/** Kept in this tab only, so that the page knows on the way back what to wait for. */
export const remember = (errand: Errand): void => sessionStorage.setItem(key, JSON.stringify(errand))

export const recall = (): Errand | undefined => {
  const text = sessionStorage.getItem(key)
  sessionStorage.removeItem(key)
  // Only `remember` writes there.
  return text === null ? undefined : (JSON.parse(text) as Errand)
}
