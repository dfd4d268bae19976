import { Effect, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import { requestIdPattern } from "../../domain/requests/requestId.ts"
import { maxEntries, OperatorLog } from "../../services/operations/OperatorLog.ts"
import { entryJson, totalsOf } from "../../services/operations/views/entryJson.ts"
import { writesNothing } from "../effects.ts"
import type { CommandLayers } from "../layers.ts"
import { print, table } from "../Output.ts"
import { entriesLines, totalsLine } from "./logEntries.ts"

const RequestId = Schema.String.check(
  Schema.isPattern(requestIdPattern, { message: "must be a UUID, as in the X-Request-Id header" })
)

const distinct = (values: ReadonlyArray<string | undefined>): ReadonlyArray<string> =>
  Array.from(new Set(values)).filter((value) => value !== undefined)

const show = Command.make(
  "show",
  {
    id: Flag.String("id").pipe(
      Flag.withDescription("The X-Request-Id of a response, in any letter case"),
      Flag.withSchema(RequestId)
    )
  },
  Effect.fn(function* ({ id }) {
    const entries = yield* Effect.flatMap(OperatorLog, (log) => log.request(id))
    const totals = totalsOf(entries)
    const accounts = distinct(entries.map(({ accountId }) => accountId))
    const keys = distinct(entries.map(({ keyId }) => keyId))
    const batches = distinct(entries.map(({ batchId }) => batchId))
    // A client may reuse one ID for any number of requests, so the list can be cut.
    const isComplete = entries.length < maxEntries
    yield* print(
      {
        request_id: id.toLowerCase(),
        account_ids: accounts,
        key_ids: keys,
        batch_ids: batches,
        complete: isComplete,
        ...totals,
        entries: entries.map(entryJson)
      },
      [
        ...table([
          ["Request", id.toLowerCase()],
          ["Account", accounts.join(", ") || "none (demo)"],
          ["Key", keys.join(", ") || "none"],
          ["Batch", batches.join(", ") || "none"],
          ["Searches", totalsLine(totals) + (isComplete ? "" : `, and possibly more (at most ${maxEntries} are shown)`)]
        ]),
        "",
        ...entriesLines(entries)
      ]
    )
  })
).pipe(Command.withDescription("Show the logged searches of requests with this X-Request-Id"))

export const request = <E, R>({ inspection }: CommandLayers<E, R>) =>
  Command.make("request").pipe(
    Command.withDescription("Look up HTTP requests by X-Request-Id"),
    Command.withSubcommands([show.pipe(writesNothing, Command.provide(inspection))])
  )
