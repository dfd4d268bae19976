import { Effect, Schema } from "effect"
import { remaining } from "../../domain/credits/Allowance.ts"
import { toMomentOrNull } from "../../domain/requests/fields.ts"
import { Account } from "../../http/groups/AccountGroup.ts"
import { toMe } from "../../http/handlers/account.ts"
import { Moment } from "../../http/timestamps.ts"
import { Ledger } from "../../services/credits/Ledger.ts"
import { makeTool } from "../Tool.ts"

const Output = Schema.Struct({
  ...Account.fields,
  quota_remaining: Schema.Int.annotate({ description: "Requests left in the period's quota" }),
  balance: Schema.Int.annotate({ description: "Pack credits left; they never expire" }),
  resets_at: Schema.NullOr(Moment).annotate({
    description: "When the quota resets; null on the trial, which never does"
  })
})

const textOf = ({ balance, credits_available, plan, quota_remaining, resets_at }: typeof Output.Encoded): string =>
  `${credits_available} credits available: ${quota_remaining} of the ${plan} plan's quota and ${balance} pack credits. ` +
  (resets_at === null ? "The quota does not reset." : `The quota resets at ${resets_at}.`)

export const account = Effect.map(Ledger, (ledger) =>
  makeTool({
    name: "account",
    title: "Account and credits",
    description:
      "Returns the plan, the remaining credits and when the quota resets. Costs nothing. Call it before a large batch " +
      "or after quota_exceeded.",
    arguments: Schema.Struct({}),
    output: Output,
    openWorld: false,
    call: Effect.fnUntraced(function* (principal) {
      const allowance = yield* ledger.allowance(principal.account)
      const structured = {
        ...toMe(principal, allowance),
        quota_remaining: remaining(allowance),
        balance: allowance.balance,
        resets_at: toMomentOrNull(allowance.resetsAt)
      }
      return { structured: JSON.stringify(structured), text: textOf(structured) }
    })
  })
)
