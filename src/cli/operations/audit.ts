import { Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { between } from "../../domain/operations/acts.ts"
import { Audit } from "../../services/operations/Audit.ts"
import { auditJson } from "../../services/operations/views/auditJson.ts"
import { writesNothing } from "../effects.ts"
import { limit, moment, nextLines, nextOf, optional, optionalText } from "../flags.ts"
import type { CommandLayers } from "../layers.ts"
import { print, table, time } from "../Output.ts"

const list = Command.make(
  "list",
  {
    operator: optionalText("operator", "Only commands by this operator"),
    command: optionalText("command", 'Only this command, such as "account suspend"'),
    subject: optionalText("subject", "Only commands about this account or key id"),
    from: moment("from", "Start of the time range, inclusive"),
    to: moment("to", "End of the time range, exclusive"),
    limit: limit(100),
    after: Flag.Int("after").pipe(
      Flag.withDescription("The last entry of the previous page: `next` in its output"),
      Flag.withSchema(between(1, Number.MAX_SAFE_INTEGER)),
      optional
    )
  },
  Effect.fn(function* ({ after: before, ...filter }) {
    const entries = yield* Effect.flatMap(Audit, (audit) => audit.list({ ...filter, before }))
    const next = nextOf(entries, filter.limit)
    yield* print(
      {
        entries: entries.map(auditJson),
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
).pipe(Command.withDescription("List commands that changed or disclosed data, newest first"))

export const audit = <E, R>({ reading }: CommandLayers<E, R>) =>
  Command.make("audit").pipe(
    Command.withDescription("Show the audit log of operator commands"),
    Command.withSubcommands([list.pipe(writesNothing, Command.provide(reading))])
  )
