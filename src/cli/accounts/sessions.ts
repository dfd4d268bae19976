import { Command } from "effect/cli"
import * as accounts from "../../services/operations/acts/accounts.ts"
import { writesMore } from "../effects.ts"
import type { CommandLayers } from "../layers.ts"
import { print } from "../Output.ts"
import { actCommand } from "../operations/actCommand.ts"
import { actFlags } from "../operations/actFlags.ts"

const end = actCommand("end", "End all sessions of an account and disconnect its apps", {
  flags: actFlags["sessions end"],
  act: accounts.endSessions,
  show: (result) => print(result, [`Ended ${result.ended} sessions and disconnected all apps.`])
})

export const sessions = <E, R>({ storage }: CommandLayers<E, R>) =>
  Command.make("sessions").pipe(
    Command.withDescription("Manage sign-in sessions"),
    Command.withSubcommands([end.pipe(writesMore, Command.provide(storage))])
  )
