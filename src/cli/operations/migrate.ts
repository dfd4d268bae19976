import { Effect } from "effect"
import { Command } from "effect/cli"
import * as Migrations from "../../layers/sql/Migrations.ts"
import { print } from "../Output.ts"

export const migrate = Command.make(
  "migrate",
  {},
  Effect.fn(function* () {
    const applied = (yield* Effect.orDie(Migrations.run)).map(([, name]) => name)
    yield* print(
      { applied },
      applied.length === 0 ? ["The schema is up to date."] : applied.map((name) => `Applied ${name}`)
    )
  })
).pipe(Command.withDescription("Apply database migrations and exit. Starting the server applies them too"))
