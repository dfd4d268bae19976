import { toMoment } from "../../../domain/requests/fields.ts"
import type { TopQuery, TopUsage } from "../OperatorLog.ts"

export const topJson = ({ by, from, to }: TopQuery, found: ReadonlyArray<TopUsage>) => ({
  by,
  from: toMoment(from),
  to: toMoment(to),
  top: found.map(({ cached, credits, email, group, outcomes, searches }) => ({
    [by]: group ?? null,
    ...(by === "account" ? { email: email ?? null } : {}),
    searches,
    credits,
    cached,
    outcomes
  }))
})
