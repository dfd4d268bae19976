import { Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { Ledger } from "../../services/credits/Ledger.ts"
import * as credits from "../../services/operations/acts/credits.ts"
import { writesMore } from "../effects.ts"
import { reason } from "../flags.ts"
import type { CommandLayers } from "../layers.ts"
import { CommandFailed, print, table } from "../Output.ts"
import { actFlags } from "../operations/actFlags.ts"
import { audited } from "../operations/audited.ts"
import { operator } from "../operations/operator.ts"
import { adjustLedger } from "./adjust.ts"

const toTable = (discrepancies: ReadonlyArray<ReturnType<typeof credits.discrepancyJson>>) =>
  table([
    ["ACCOUNT", "WHAT", "EXPECTED", "FOUND"],
    ...discrepancies.map(({ account_id, expected, found, what }) => [account_id, what, `${expected}`, `${found}`])
  ])

const verify = Command.make(
  "verify",
  actFlags["ledger verify"],
  Effect.fn(function* (input) {
    const found = yield* credits.verify(input)
    const { discrepancies, ok } = found
    yield* print(found, ok ? ["All accounts match their records."] : toTable(discrepancies))
    if (!ok) {
      return yield* new CommandFailed({
        message: `The ledger does not match its records. Discrepancies: ${discrepancies.length}. Find the cause before you run ledger repair.`
      })
    }
  })
).pipe(Command.withDescription("Recompute every account from its records and close those that match"))

const repair = Command.make(
  "repair",
  {
    accountId: Flag.String("account").pipe(Flag.withDescription("The ACCOUNT column of ledger verify")),
    keep: Flag.Literals("keep", ["entries", "figures"]).pipe(
      Flag.withDescription("Which side is correct: the sum of the entries, or the stored figures")
    ),
    reason: reason("ledger")
  },
  Effect.fn(function* (input) {
    const ledger = yield* Ledger
    const repair = { ...input, by: yield* operator }
    const repaired = yield* audited(ledger.repair(repair), (found) => ({
      command: "ledger repair",
      subject: input.accountId,
      arguments: { keep: input.keep, reason: input.reason, repaired: found.length }
    }))
    const json = repaired.map(credits.discrepancyJson)
    yield* print(
      { account_id: input.accountId, repaired: json },
      json.length === 0 ? [`${input.accountId} matches its records. Nothing was repaired.`] : toTable(json)
    )
  })
).pipe(Command.withDescription("Repair an account that does not match its records"))

export const ledger = <E, R>({ storage }: CommandLayers<E, R>) =>
  Command.make("ledger").pipe(
    Command.withDescription("Verify and correct the credit ledger"),
    Command.withSubcommands([
      verify.pipe(writesMore, Command.provide(storage)),
      adjustLedger.pipe(writesMore, Command.provide(storage)),
      repair.pipe(writesMore, Command.provide(storage))
    ])
  )
