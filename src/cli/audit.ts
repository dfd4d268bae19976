import { Effect, type Layer, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { Audit } from "../services/Audit.ts"
import { between, limit, moment, nextLines, nextOf } from "./flags.ts"
import { print, table, time } from "./Output.ts"

const filter = (name: string, description: string) =>
  Flag.String(name).pipe(Flag.withDescription(description), Flag.optional)

const list = Command.make(
  "list",
  {
    operator: filter("operator", "Commands of this operator"),
    command: filter("command", 'This command, such as "account suspend"'),
    subject: filter("subject", "Commands about this account or key, by its id"),
    from: moment("from", "First moment listed"),
    to: moment("to", "First moment not listed"),
    limit: limit(100),
    after: Flag.Int("after").pipe(
      Flag.withDescription("The last entry of the page before: `next` in its object"),
      Flag.withSchema(between(1, Number.MAX_SAFE_INTEGER)),
      Flag.optional
    )
  },
  Effect.fn(function* (input) {
    const entries = yield* Effect.flatMap(Audit, (audit) =>
      audit.list({
        operator: Option.getOrUndefined(input.operator),
        command: Option.getOrUndefined(input.command),
        subject: Option.getOrUndefined(input.subject),
        from: Option.getOrUndefined(input.from),
        to: Option.getOrUndefined(input.to),
        before: Option.getOrUndefined(input.after),
        limit: input.limit
      })
    )
    const next = nextOf(entries, input.limit)
    yield* print(
      {
        entries: entries.map(({ arguments: all, at, command, id, operator, subject }) => ({
          id,
          at: time(at),
          operator,
          command,
          subject: subject ?? null,
          arguments: all
        })),
        next
      },
      [
        ...table([
          ["ENTRY", "AT", "OPERATOR", "COMMAND", "SUBJECT", "ARGUMENTS"],
          ...entries.map(({ arguments: all, at, command, id, operator, subject }) => [
            `${id}`,
            time(at) ?? "",
            operator,
            command,
            subject ?? "-",
            Object.entries(all)
              .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
              .join(" ")
          ])
        ]),
        ...nextLines(next)
      ]
    )
  })
).pipe(Command.withDescription("List the commands that changed something or gave something out, newest first"))

export const audit = <E, R>(storage: Layer.Layer<Audit, E, R>) =>
  Command.make("audit").pipe(
    Command.withDescription("The record of the operators' commands"),
    Command.withSubcommands([list.pipe(Command.provide(storage))])
  )
