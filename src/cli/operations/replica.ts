import { Command } from "effect/cli"
import { forgetReplica } from "../../services/operations/acts/deployment.ts"
import { writesMore } from "../effects.ts"
import type { CommandLayers } from "../layers.ts"
import { print } from "../Output.ts"
import { actCommand } from "./actCommand.ts"
import { actFlags } from "./actFlags.ts"

const forget = actCommand("forget", "Remove a replica that will not come back from `status`", {
  flags: actFlags["replica forget"],
  act: forgetReplica,
  show: (result, { id }) => print(result, [`Removed replica ${id}.`])
})

export const replica = <E, R>({ storage }: CommandLayers<E, R>) =>
  Command.make("replica").pipe(
    Command.withDescription("Manage server processes"),
    Command.withSubcommands([forget.pipe(writesMore, Command.provide(storage))])
  )
