import type { Effect } from "effect"
import * as credits from "../../services/operations/acts/credits.ts"
import { accountId } from "../flags.ts"
import { print, table } from "../Output.ts"
import { actCommand } from "../operations/actCommand.ts"
import { actFlags, adjustFlags } from "../operations/actFlags.ts"

const show = (adjusted: Effect.Success<ReturnType<typeof credits.adjust>>) =>
  print(
    adjusted,
    table([
      ["Account", adjusted.account_id],
      ["Used", `${adjusted.used}`],
      ["Pack balance", `${adjusted.balance}`]
    ])
  )

const description = "Correct an account's credits with a ledger entry and a reason"

export const adjustAccount = actCommand("adjust", description, {
  flags: actFlags["account adjust"],
  act: (input) => credits.adjust(input, "account adjust"),
  show
})

export const adjustLedger = actCommand("adjust", description, {
  flags: { account: accountId("account"), ...adjustFlags },
  act: ({ account, ...input }) => credits.adjust({ id: account, ...input }, "ledger adjust"),
  show
})
