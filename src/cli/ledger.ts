import { Effect, type Layer } from "effect"
import { Command } from "effect/cli"
import { Ledger } from "../services/Ledger.ts"
import { CommandFailed, print, table } from "./Output.ts"

const verify = Command.make(
  "verify",
  {},
  Effect.fn(function* () {
    const discrepancies = yield* Effect.flatMap(Ledger, (ledger) => ledger.verify)
    const isSound = discrepancies.length === 0
    yield* print(
      {
        ok: isSound,
        discrepancies: discrepancies.map(({ accountId, expected, found, what }) => ({
          account_id: accountId,
          what,
          expected,
          found
        }))
      },
      isSound
        ? ["Every account agrees with its records."]
        : table([
            ["ACCOUNT", "WHAT", "EXPECTED", "FOUND"],
            ...discrepancies.map((it) => [it.accountId, it.what, `${it.expected}`, `${it.found}`])
          ])
    )
    if (!isSound) {
      return yield* new CommandFailed({
        message: `The ledger does not add up: ${discrepancies.length} figures disagree.`
      })
    }
  })
).pipe(Command.withDescription("Recompute every account from its records"))

export const ledger = <E, R>(storage: Layer.Layer<Ledger, E, R>) =>
  Command.make("ledger").pipe(
    Command.withDescription("The record of credits"),
    Command.withSubcommands([verify.pipe(Command.provide(storage))])
  )
