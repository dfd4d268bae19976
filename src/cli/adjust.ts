import { Effect, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import { Accounts } from "../services/Accounts.ts"
import { Ledger } from "../services/Ledger.ts"
import { audited } from "./audited.ts"
import { accountId, limits, reason } from "./flags.ts"
import { print, table } from "./Output.ts"
import { operator } from "./operator.ts"

const Credits = Schema.Int.check(
  Schema.makeFilter((credits) => credits !== 0 && Math.abs(credits) <= limits.credits, {
    message: `must be a whole number up to ${limits.credits} in size, and not 0`
  })
)

/** `account adjust` and `ledger adjust` are one command, which each group has with its own name for the account. */
export const adjust = (group: "account" | "ledger", account: "id" | "account") =>
  Command.make(
    "adjust",
    {
      accountId: accountId(account),
      credits: Flag.Int("credits").pipe(
        Flag.withDescription("Credits to give; below 0, to take"),
        Flag.withSchema(Credits)
      ),
      to: Flag.Literals("to", ["balance", "quota"]).pipe(
        Flag.withDescription("The pack balance, or what is left of the present period's quota"),
        Flag.withDefault("balance")
      ),
      reason: reason.pipe(Flag.withDescription("Why, for the ledger"))
    },
    Effect.fn(function* (input) {
      const ledger = yield* Ledger
      const account = yield* Effect.flatMap(Accounts, (accounts) => accounts.byId(input.accountId))
      // Opens a period that has begun, which cannot be done inside the transaction.
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
  ).pipe(Command.withDescription("Correct an account's credits by an entry with a reason"))
