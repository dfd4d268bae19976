import { Effect, type Layer } from "effect"
import { Command } from "effect/cli"
import { Ledger } from "../services/Ledger.ts"
import { CommandFailed, print, table } from "./Output.ts"

const verify = Command.make(
  "verify",
  {},
  Effect.fn(function* () {
    const found = yield* Effect.flatMap(Ledger, (ledger) => ledger.verify)
    const discrepancies = found.map(({ accountId, expected, found, what }) => ({
      account_id: accountId,
      what,
      expected,
      found
    }))
    yield* print(
      { ok: found.length === 0, discrepancies },
      found.length === 0
        ? ["Every account agrees with its records."]
        : table([
            ["ACCOUNT", "WHAT", "EXPECTED", "FOUND"],
            ...found.map((it) => [it.accountId, it.what, `${it.expected}`, `${it.found}`])
          ])
    )
    if (found.length > 0) {
      return yield* new CommandFailed({ message: `The ledger does not add up: ${found.length} figures disagree.` })
    }
  })
).pipe(Command.withDescription("Recompute every account from its records"))

export const ledger = <E, R>(storage: Layer.Layer<Ledger, E, R>) =>
  Command.make("ledger").pipe(
    Command.withDescription("The record of credits"),
    Command.withSubcommands([verify.pipe(Command.provide(storage))])
  )
