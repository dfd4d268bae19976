import { Effect, type Layer } from "effect"
import { Command, Flag } from "effect/cli"
import type { Accounts } from "../services/Accounts.ts"
import type { Audit } from "../services/Audit.ts"
import { type Discrepancy, Ledger } from "../services/Ledger.ts"
import type { AppConfig } from "../settings/Settings.ts"
import { adjust } from "./adjust.ts"
import { audited } from "./audited.ts"
import { reason } from "./flags.ts"
import { CommandFailed, print, table } from "./Output.ts"
import { operator } from "./operator.ts"

const toJson = ({ accountId, expected, found, what }: Discrepancy) => ({ account_id: accountId, what, expected, found })

const toTable = (discrepancies: ReadonlyArray<Discrepancy>) =>
  table([
    ["ACCOUNT", "WHAT", "EXPECTED", "FOUND"],
    ...discrepancies.map((it) => [it.accountId, it.what, `${it.expected}`, `${it.found}`])
  ])

const verify = Command.make(
  "verify",
  {},
  Effect.fn(function* () {
    const discrepancies = yield* Effect.flatMap(Ledger, (ledger) => ledger.verify)
    const isSound = discrepancies.length === 0
    yield* print(
      { ok: isSound, discrepancies: discrepancies.map(toJson) },
      isSound ? ["Every account agrees with its records."] : toTable(discrepancies)
    )
    if (!isSound) {
      return yield* new CommandFailed({
        message: `The ledger does not add up: ${discrepancies.length} figures disagree.`
      })
    }
  })
).pipe(Command.withDescription("Recompute every account from its records"))

const repair = Command.make(
  "repair",
  {
    accountId: Flag.String("account").pipe(Flag.withDescription("What ledger verify shows under ACCOUNT")),
    keep: Flag.Literals("keep", ["entries", "figures"]).pipe(
      Flag.withDescription("What is right: the sum of the entries, or the used credits and the balance as they are")
    ),
    reason: reason.pipe(Flag.withDescription("Why, for the ledger"))
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
      repaired.length === 0 ? [`${input.accountId} agrees with its records: nothing was repaired.`] : toTable(repaired)
    )
  })
).pipe(Command.withDescription("Make an account agree with its records again, by entries with a reason"))

export const ledger = <E, R>(storage: Layer.Layer<Accounts | AppConfig | Audit | Ledger, E, R>) =>
  Command.make("ledger").pipe(
    Command.withDescription("The record of credits"),
    Command.withSubcommands([
      verify.pipe(Command.provide(storage)),
      adjust("ledger", "account").pipe(Command.provide(storage)),
      repair.pipe(Command.provide(storage))
    ])
  )
