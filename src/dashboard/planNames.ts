import type { Billing } from "./purchase.ts"

export const planName = ({ plan: own, plan_name: ownName, plans }: Billing, plan: Billing["plan"]): string =>
  plans.find((offer) => offer.plan === plan)?.name ?? (plan === own ? ownName : plan)
