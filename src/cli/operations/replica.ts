import { Effect } from "effect"
import { Argument, Command } from "effect/cli"
import { Replicas } from "../../services/operations/Replicas.ts"
import { writesMore } from "../effects.ts"
import type { CommandLayers } from "../layers.ts"
import { CommandFailed, NotFound, print } from "../Output.ts"
import { audited } from "./audited.ts"

const forget = Command.make(
  "forget",
  { id: Argument.String("id").pipe(Argument.withDescription("Replica id from `status`: rep_…")) },
  Effect.fn(function* ({ id }) {
    const replicas = yield* Replicas
    const change = Effect.flatMap(replicas.forget(id), (result): Effect.Effect<void, CommandFailed | NotFound> => {
      if (result === "forgotten") return Effect.void
      return result === "unknown"
        ? Effect.fail(new NotFound({ message: `There is no replica ${id}.` }))
        : Effect.fail(
            new CommandFailed({
              message: `Replica ${id} is running or ended only seconds ago. Stop it, then try again.`
            })
          )
    })
    yield* audited(change, () => ({ command: "replica forget", subject: id }))
    yield* print({ id }, [`Removed replica ${id}.`])
  })
).pipe(writesMore, Command.withDescription("Remove a replica that will not come back from `status`"))

export const replica = <E, R>({ storage }: CommandLayers<E, R>) =>
  Command.make("replica").pipe(
    Command.withDescription("Manage server processes"),
    Command.withSubcommands([forget.pipe(Command.provide(storage))])
  )
