import { Schema } from "effect"
import type { PrincipalBounds } from "../../../domain/accounts/Principal.ts"
import { memberBudgetPrefix } from "../../../domain/credits/Budget.ts"
import { AnyTarget } from "../../../domain/search/Target.ts"

/** The bounds of the member (R67) in a statement that authenticates a credential. */
export const MemberBoundsRow = Schema.Struct({
  member_budget_id: Schema.NullOr(Schema.String),
  member_targets: Schema.NullOr(Schema.Array(AnyTarget))
})

export const memberBoundsColumns =
  "case when mb.budget_credits is not null then mb.origin_id end as member_budget_id, mb.targets as member_targets"

/** `account` and `person` are expressions for the IDs. */
export const memberBoundsId = (account: string, person: string): string =>
  `'${memberBudgetPrefix}' || ${account} || ':' || ${person}`

export const joinMemberBounds = (account: string, person: string): string =>
  `left join key_bounds mb on mb.origin_id = ${memberBoundsId(account, person)}`

export const toMemberBounds = (row: typeof MemberBoundsRow.Type): PrincipalBounds | undefined =>
  row.member_budget_id === null && row.member_targets === null
    ? undefined
    : {
        budgets: row.member_budget_id === null ? undefined : { member: row.member_budget_id },
        targets: row.member_targets ?? undefined,
        networks: undefined
      }
