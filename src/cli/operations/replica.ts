import { Effect } from "effect"
import { Command } from "effect/cli"
import { forgetReplica } from "../../services/operations/acts/deployment.ts"
import { writesMore } from "../effects.ts"
import type { CommandLayers } from "../layers.ts"
import { print } from "../Output.ts"
import { actFlags } from "./actFlags.ts"
import { asOperator } from "./operator.ts"

const forget = Command.make(
  "forget",
  actFlags["replica forget"],
  Effect.fn(function* (input) {
    yield* print(yield* asOperator(forgetReplica(input)), [`Removed replica ${input.id}.`])
  })
).pipe(writesMore, Command.withDescription("Remove a replica that will not come back from `status`"))

export const replica = <E, R>({ storage }: CommandLayers<E, R>) =>
  Command.make("replica").pipe(
    Command.withDescription("Manage server processes"),
    Command.withSubcommands([forget.pipe(Command.provide(storage))])
  )
