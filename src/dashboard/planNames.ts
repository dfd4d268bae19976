import type { Billing } from "./purchase.ts"

/** The operator's name of a plan: of one that is sold, or of the account's own. */
export const planName = ({ plan: own, plan_name: ownName, plans }: Billing, plan: Billing["plan"]): string =>
  plans.find((offer) => offer.plan === plan)?.name ?? (plan === own ? ownName : plan)
