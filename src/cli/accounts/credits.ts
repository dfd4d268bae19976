import { Effect } from "effect"
import { Command } from "effect/cli"
import * as credits from "../../services/operations/acts/credits.ts"
import { print } from "../Output.ts"
import { actFlags } from "../operations/actFlags.ts"
import { asOperator } from "../operations/operator.ts"

export const grant = Command.make(
  "grant",
  actFlags["account grant"],
  Effect.fn(function* (input) {
    const granted = yield* asOperator(credits.grant(input))
    yield* print(granted, [`Pack balance: ${granted.balance}`])
  })
).pipe(Command.withDescription("Add pack credits to an account"))
