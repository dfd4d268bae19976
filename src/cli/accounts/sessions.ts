import { Effect } from "effect"
import { Command } from "effect/cli"
import * as accounts from "../../services/operations/acts/accounts.ts"
import { writesMore } from "../effects.ts"
import type { CommandLayers } from "../layers.ts"
import { print } from "../Output.ts"
import { actFlags } from "../operations/actFlags.ts"
import { asOperator } from "../operations/operator.ts"

const end = Command.make(
  "end",
  actFlags["sessions end"],
  Effect.fn(function* (input) {
    const result = yield* asOperator(accounts.endSessions(input))
    yield* print(result, [`Ended ${result.ended} sessions and disconnected all apps.`])
  })
).pipe(Command.withDescription("End all sessions of an account and disconnect its apps"))

export const sessions = <E, R>({ storage }: CommandLayers<E, R>) =>
  Command.make("sessions").pipe(
    Command.withDescription("Manage sign-in sessions"),
    Command.withSubcommands([end.pipe(writesMore, Command.provide(storage))])
  )
