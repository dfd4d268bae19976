import { Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { operatorRoles } from "../../domain/operations/OperatorRole.ts"
import { type Operator, Operators } from "../../services/accounts/Operators.ts"
import { writesMore, writesNothing } from "../effects.ts"
import { email } from "../flags.ts"
import type { CommandLayers } from "../layers.ts"
import { print, table, time } from "../Output.ts"
import { audited } from "../operations/audited.ts"
import { operator as currentOperator } from "../operations/operator.ts"

const operatorJson = ({ by, email, personId, role, since }: Operator) => ({
  person: personId,
  email,
  role,
  since: time(since),
  by
})

const add = Command.make(
  "add",
  {
    email,
    role: Flag.Literals("role", operatorRoles).pipe(
      Flag.withDescription("operator may do everything in the console, observer may only read"),
      Flag.withDefault("operator")
    )
  },
  Effect.fn(function* (input) {
    const operators = yield* Operators
    const added = operators.add(input.email, input.role, yield* currentOperator)
    const operator = yield* audited(added, ({ personId, role }) => ({
      command: "operator add",
      subject: personId,
      arguments: { role }
    }))
    yield* print(operatorJson(operator), [
      `${operator.email} is now ${operator.role}. The console also needs OPERATOR_CONSOLE=on and the person's second factor.`
    ])
  })
).pipe(Command.withDescription("Let a person use the operator's console, or change the person's role there"))

const list = Command.make(
  "list",
  {},
  Effect.fn(function* () {
    const operators = yield* Effect.flatMap(Operators, (service) => service.list)
    yield* print(
      { operators: operators.map(operatorJson) },
      table([
        ["EMAIL", "ROLE", "SINCE", "BY"],
        ...operators.map(({ by, email, role, since }) => [email, role, time(since) ?? "", by])
      ])
    )
  })
).pipe(Command.withDescription("List the people who may use the operator's console"))

const remove = Command.make(
  "remove",
  { email },
  Effect.fn(function* (input) {
    const operators = yield* Operators
    const operator = yield* audited(operators.remove(input.email), ({ personId, role }) => ({
      command: "operator remove",
      subject: personId,
      arguments: { role }
    }))
    yield* print(operatorJson(operator), [`${operator.email} can no longer use the console.`])
  })
).pipe(Command.withDescription("Take the operator's console from a person"))

export const operator = <E, R>({ reading, storage }: CommandLayers<E, R>) =>
  Command.make("operator").pipe(
    Command.withDescription("Manage the people who may use the operator's console"),
    Command.withSubcommands([
      add.pipe(writesMore, Command.provide(storage)),
      list.pipe(writesNothing, Command.provide(reading)),
      remove.pipe(writesMore, Command.provide(storage))
    ])
  )
