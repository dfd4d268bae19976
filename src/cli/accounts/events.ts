import { Effect, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import { Cursor } from "../../domain/log/QueryHistory.ts"
import { Accounts } from "../../services/accounts/Accounts.ts"
import { Activity } from "../../services/accounts/Activity.ts"
import { accountId, limit, moment, nextLines, optional, optionalText } from "../flags.ts"
import { print, table, time } from "../Output.ts"

const encodeCursor = Schema.encodeSync(Cursor)

export const events = Command.make(
  "events",
  {
    id: accountId("id"),
    type: optionalText("type", "Only events of this type, such as key.created, or of this object, such as key"),
    actor: optionalText("actor", 'Only what this email address, key id, or "operator" did'),
    from: moment("from", "Start of the time range, inclusive"),
    to: moment("to", "End of the time range, exclusive"),
    limit: limit(100),
    after: Flag.String("after").pipe(
      Flag.withDescription("The end of the previous page: `next` in its output"),
      Flag.withSchema(Cursor),
      optional
    )
  },
  Effect.fn(function* ({ after: cursor, id: given, ...filter }) {
    const { id } = yield* Effect.flatMap(Accounts, (accounts) => accounts.byId(given))
    const { entries, next: position } = yield* Effect.flatMap(Activity, (activity) =>
      activity.page(id, { ...filter, cursor })
    )
    const next = position === undefined ? null : encodeCursor(position)
    yield* print(
      {
        events: entries.map((event) => ({ ...event, at: time(event.at) })),
        next
      },
      [
        ...table([
          ["AT", "TYPE", "ACTOR", "ADDRESS", "CHANGES"],
          ...entries.map(({ actor, address, at, changes, type }) => [
            time(at) ?? "",
            type,
            actor ?? "-",
            address ?? "-",
            JSON.stringify(changes)
          ])
        ]),
        ...nextLines(next)
      ]
    )
  })
).pipe(Command.withDescription("Show who did what in an account, newest first"))
