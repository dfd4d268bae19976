import { Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { OperatorLog } from "../../services/operations/OperatorLog.ts"
import { entryJson, totalsOf } from "../../services/operations/views/entryJson.ts"
import { writesNothing } from "../effects.ts"
import type { CommandLayers } from "../layers.ts"
import { print, table } from "../Output.ts"
import { entriesLines, totalsLine } from "./logEntries.ts"

const show = Command.make(
  "show",
  { id: Flag.String("id").pipe(Flag.withDescription("Batch id: bat_…")) },
  Effect.fn(function* ({ id }) {
    const rows = yield* Effect.flatMap(OperatorLog, (log) => log.batch(id))
    const [first] = rows
    const totals = totalsOf(rows)
    yield* print(
      {
        batch_id: id,
        account_id: first?.accountId ?? null,
        key_id: first?.keyId ?? null,
        request_id: first?.requestId ?? null,
        ...totals,
        rows: rows.map(entryJson)
      },
      [
        ...table([
          ["Batch", id],
          ["Account", first?.accountId ?? "none"],
          ["Key", first?.keyId ?? "none"],
          ["Request", first?.requestId ?? "not logged"],
          ["Rows", totalsLine(totals)]
        ]),
        "",
        ...entriesLines(rows)
      ]
    )
  })
).pipe(Command.withDescription("Show the logged rows of a batch: charged and failed rows, but not invalid ones"))

export const batch = <E, R>({ inspection }: CommandLayers<E, R>) =>
  Command.make("batch").pipe(
    Command.withDescription("Look up bulk requests in the query log"),
    Command.withSubcommands([show.pipe(writesNothing, Command.provide(inspection))])
  )
