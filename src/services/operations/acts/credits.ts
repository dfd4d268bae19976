import { Effect } from "effect"
import type { FieldsOf } from "../../../domain/operations/acts.ts"
import { noSuchAccount } from "../../accounts/Accounts.ts"
import { type Discrepancy, Ledger } from "../../credits/Ledger.ts"
import { audited } from "../audited.ts"
import { CurrentOperator } from "../CurrentOperator.ts"
import { accountById } from "./accounts.ts"

/** `ledger adjust` is another name of the same command. */
export const adjust = Effect.fnUntraced(function* (
  { credits, id, reason, to = "balance" }: FieldsOf<"account adjust">,
  command: "account adjust" | "ledger adjust" = "account adjust"
) {
  const ledger = yield* Ledger
  const account = yield* accountById(id)
  // Opens the current period, which is not possible inside the transaction.
  yield* ledger.allowance(account).pipe(Effect.catchTag("unauthorized", () => Effect.fail(noSuchAccount(id))))
  const adjustment = { accountId: account.id, credits, to, reason, by: yield* CurrentOperator }
  const { balance, quota, used } = yield* audited(ledger.adjust(adjustment), () => ({
    command,
    subject: account.id,
    arguments: { credits, to, reason }
  }))
  return { account_id: account.id, quota: quota ?? null, used, balance }
})

export const grant = Effect.fnUntraced(function* (input: FieldsOf<"account grant">) {
  const { credits, id, idempotency_key, reason } = input
  const ledger = yield* Ledger
  const balance = yield* audited(ledger.grant(id, credits, reason, idempotency_key), () => ({
    command: "account grant",
    subject: id,
    arguments: { credits, reason, idempotency_key }
  }))
  return { balance }
})

export const discrepancyJson = ({ accountId, expected, found, what }: Discrepancy) => ({
  account_id: accountId,
  what,
  expected,
  found
})

/** Not recorded: it changes no credits. */
export const verify = Effect.fnUntraced(function* ({ full = false }: FieldsOf<"ledger verify">) {
  const discrepancies = yield* Effect.flatMap(Ledger, (ledger) => (full ? ledger.verifyFully : ledger.verify))
  return { ok: discrepancies.length === 0, discrepancies: discrepancies.map(discrepancyJson) }
})
