import { Effect, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import { Accounts } from "../../services/accounts/Accounts.ts"
import { Ledger } from "../../services/credits/Ledger.ts"
import { accountId, limits, reason } from "../flags.ts"
import { print, table } from "../Output.ts"
import { audited } from "../operations/audited.ts"
import { operator } from "../operations/operator.ts"

const Credits = Schema.Int.check(
  Schema.makeFilter((credits) => credits !== 0 && Math.abs(credits) <= limits.credits, {
    message: `must be a whole number between -${limits.credits} and ${limits.credits}, other than 0`
  })
)

export const adjust = (group: "account" | "ledger", account: "id" | "account") =>
  Command.make(
    "adjust",
    {
      accountId: accountId(account),
      credits: Flag.Int("credits").pipe(
        Flag.withDescription("Credits to add, or a negative number to remove"),
        Flag.withSchema(Credits)
      ),
      to: Flag.Literals("to", ["balance", "quota"]).pipe(
        Flag.withDescription("Adjust the pack balance or the quota of the current period"),
        Flag.withDefault("balance")
      ),
      reason: reason("ledger")
    },
    Effect.fn(function* (input) {
      const ledger = yield* Ledger
      const account = yield* Effect.flatMap(Accounts, (accounts) => accounts.byId(input.accountId))
      // Opens the current period, which is not possible inside the transaction.
      yield* ledger.allowance(account)
      const adjustment = { ...input, by: yield* operator }
      const { credits, reason, to } = input
      const { balance, quota, used } = yield* audited(ledger.adjust(adjustment), () => ({
        command: `${group} adjust`,
        subject: account.id,
        arguments: { credits, to, reason }
      }))
      yield* print(
        { account_id: account.id, quota: quota ?? null, used, balance },
        table([
          ["Account", account.id],
          ["Used", `${used}`],
          ["Pack balance", `${balance}`]
        ])
      )
    })
  ).pipe(Command.withDescription("Correct an account's credits with a ledger entry and a reason"))
