import { Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { type Discrepancy, Ledger } from "../../services/credits/Ledger.ts"
import { writesMore } from "../effects.ts"
import { reason, toggle } from "../flags.ts"
import type { CommandLayers } from "../layers.ts"
import { CommandFailed, print, table } from "../Output.ts"
import { audited } from "../operations/audited.ts"
import { operator } from "../operations/operator.ts"
import { adjust } from "./adjust.ts"

const toJson = ({ accountId, expected, found, what }: Discrepancy) => ({ account_id: accountId, what, expected, found })

const toTable = (discrepancies: ReadonlyArray<Discrepancy>) =>
  table([
    ["ACCOUNT", "WHAT", "EXPECTED", "FOUND"],
    ...discrepancies.map((discrepancy) => [
      discrepancy.accountId,
      discrepancy.what,
      `${discrepancy.expected}`,
      `${discrepancy.found}`
    ])
  ])

const verify = Command.make(
  "verify",
  {
    full: toggle("full", "Read every entry, including closed months")
  },
  Effect.fn(function* ({ full }) {
    const discrepancies = yield* Effect.flatMap(Ledger, (ledger) => (full ? ledger.verifyFully : ledger.verify))
    const isSound = discrepancies.length === 0
    yield* print(
      { ok: isSound, discrepancies: discrepancies.map(toJson) },
      isSound ? ["All accounts match their records."] : toTable(discrepancies)
    )
    if (!isSound) {
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
    yield* print(
      { account_id: input.accountId, repaired: repaired.map(toJson) },
      repaired.length === 0 ? [`${input.accountId} matches its records. Nothing was repaired.`] : toTable(repaired)
    )
  })
).pipe(Command.withDescription("Repair an account that does not match its records"))

export const ledger = <E, R>({ storage }: CommandLayers<E, R>) =>
  Command.make("ledger").pipe(
    Command.withDescription("Verify and correct the credit ledger"),
    Command.withSubcommands([
      verify.pipe(writesMore, Command.provide(storage)),
      adjust("ledger", "account").pipe(writesMore, Command.provide(storage)),
      repair.pipe(writesMore, Command.provide(storage))
    ])
  )
