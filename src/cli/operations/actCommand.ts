import { Effect } from "effect"
import { Command } from "effect/cli"
import { asOperator } from "./operator.ts"

interface ActCommand<Flags extends Command.Command.Config, A, E, R, E2, R2> {
  readonly flags: Flags
  readonly act: (input: Command.Command.Config.Infer<Flags>) => Effect.Effect<A, E, R>
  readonly show: (result: A, input: Command.Command.Config.Infer<Flags>) => Effect.Effect<void, E2, R2>
}

/** A command that runs an act as the operator, and shows its result. */
export const actCommand = <const Name extends string, const Flags extends Command.Command.Config, A, E, R, E2, R2>(
  name: Name,
  description: string,
  { act, flags, show }: ActCommand<Flags, A, E, R, E2, R2>
) =>
  Command.make(name, flags, (input) => Effect.flatMap(asOperator(act(input)), (result) => show(result, input))).pipe(
    Command.withDescription(description)
  )
