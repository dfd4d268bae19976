import type { Answer } from "./api/routes.ts"

/** A purchase on the payment provider's page, from the moment at which the person leaves for it. */

export type Billing = Answer<"GET /v1/billing">
type Plan = Billing["plans"][number]["plan"]

export type Errand =
  | { readonly _tag: "plan"; readonly plan: Plan }
  /** `before` is the balance without what is owed, before the purchase. */
  | { readonly _tag: "pack"; readonly credits: number; readonly before: number }
  | { readonly _tag: "portal" }

/** True where the change begins at once (R39). Plans are listed from the least to the most. */
export const isUpgrade = (plans: Billing["plans"], from: Plan, to: Plan): boolean =>
  plans.findIndex(({ plan }) => plan === to) > plans.findIndex(({ plan }) => plan === from)

/** True once the books have what was bought. The page shows nothing as paid before that. */
export const isBooked = (errand: Errand, { balance, owed, plan, subscription }: Billing): boolean => {
  if (errand._tag === "plan") return plan === errand.plan && subscription?.plan === errand.plan
  // Searches may spend credits meanwhile, but hardly half of a pack.
  return errand._tag === "pack" && balance - owed - errand.before >= errand.credits / 2
}

/** Searches by which an upgrade raises the running period's quota: the share of the time that is left (R39). */
export const quotaGain = (more: number, start: number, end: number, now: number): number =>
  Math.floor((more * Math.min(Math.max(end - now, 0), end - start)) / (end - start))

const key = "quarry.errand"

/** Notes the errand in this tab alone, so that the page knows on the way back what to wait for. */
export const remember = (errand: Errand): void => sessionStorage.setItem(key, JSON.stringify(errand))

/** The errand that the person comes back from. It is handed out once. */
export const recall = (): Errand | undefined => {
  const text = sessionStorage.getItem(key)
  sessionStorage.removeItem(key)
  // Only `remember` writes there.
  return text === null ? undefined : (JSON.parse(text) as Errand)
}
