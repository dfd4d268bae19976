import { Effect } from "effect"
import { Command } from "effect/cli"
import type { FieldsOf } from "../../domain/operations/acts.ts"
import * as credits from "../../services/operations/acts/credits.ts"
import { accountId } from "../flags.ts"
import { print, table } from "../Output.ts"
import { actFlags, adjustFlags } from "../operations/actFlags.ts"
import { asOperator } from "../operations/operator.ts"

const run = Effect.fnUntraced(function* (
  input: FieldsOf<"account adjust">,
  command: "account adjust" | "ledger adjust"
) {
  const adjusted = yield* asOperator(credits.adjust(input, command))
  yield* print(
    adjusted,
    table([
      ["Account", adjusted.account_id],
      ["Used", `${adjusted.used}`],
      ["Pack balance", `${adjusted.balance}`]
    ])
  )
})

const description = Command.withDescription("Correct an account's credits with a ledger entry and a reason")

export const adjustAccount = Command.make("adjust", actFlags["account adjust"], (input) =>
  run(input, "account adjust")
).pipe(description)

export const adjustLedger = Command.make(
  "adjust",
  { account: accountId("account"), ...adjustFlags },
  ({ account, ...input }) => run({ id: account, ...input }, "ledger adjust")
).pipe(description)
