import { Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { OperatorLog } from "../../services/operations/OperatorLog.ts"
import { entryJson } from "../../services/operations/views/entryJson.ts"
import { writesNothing } from "../effects.ts"
import type { CommandLayers } from "../layers.ts"
import { print } from "../Output.ts"
import { entryLines } from "./logEntries.ts"

const show = Command.make(
  "show",
  { id: Flag.String("id").pipe(Flag.withDescription("Search id: qry_…")) },
  Effect.fn(function* ({ id }) {
    const entry = yield* Effect.flatMap(OperatorLog, (log) => log.query(id))
    yield* print(entryJson(entry), entryLines(entry))
  })
).pipe(Command.withDescription("Show one search: its request, its outcome, and why providers refused it"))

export const query = <E, R>({ inspection }: CommandLayers<E, R>) =>
  Command.make("query").pipe(
    Command.withDescription("Look up searches in the query log"),
    Command.withSubcommands([show.pipe(writesNothing, Command.provide(inspection))])
  )
