import { Clock, Effect } from "effect"
import { CliError, Command, Flag } from "effect/cli"
import { OperatorLog, usageGroups } from "../../services/operations/OperatorLog.ts"
import { topJson } from "../../services/operations/views/topJson.ts"
import { writesNothing } from "../effects.ts"
import { limit, moment } from "../flags.ts"
import type { CommandLayers } from "../layers.ts"
import { CommandFailed, print, table, time } from "../Output.ts"

const dayMs = 86_400_000

const top = Command.make(
  "top",
  {
    by: Flag.Literals("by", usageGroups).pipe(
      Flag.withDescription("Group searches by this (default: account)"),
      Flag.withDefault("account")
    ),
    from: moment("from", "Start of the time range, inclusive (default: one day before its end)"),
    to: moment("to", "End of the time range, exclusive (default: now)"),
    limit: limit(20)
  },
  Effect.fn(function* (input) {
    const to = input.to ?? (yield* Clock.currentTimeMillis)
    const from = input.from ?? to - dayMs
    // `Command.validate` cannot check this: the current time is known only while the command runs.
    if (from >= to) return yield* new CommandFailed({ message: "--from is in the future. Choose an earlier time." })
    const { by, limit } = input
    const query = { by, from, to, limit }
    const found = yield* Effect.flatMap(OperatorLog, (log) => log.top(query))
    yield* print(topJson(query, found), [
      `From ${time(from)} to ${time(to)}`,
      "",
      ...table([
        [by.toUpperCase(), "SEARCHES", "CREDITS", "CACHED", "OK", "ERROR", "TIMEOUT", by === "account" ? "EMAIL" : ""],
        ...found.map(({ cached, credits, email, group, outcomes, searches }) => [
          group ?? "-",
          `${searches}`,
          `${credits}`,
          `${cached}`,
          `${outcomes.ok}`,
          `${outcomes.upstream_error}`,
          `${outcomes.upstream_timeout}`,
          email ?? ""
        ])
      ])
    ])
  })
).pipe(
  Command.withDescription("Show the accounts, keys, targets, providers, or sources with the most searches"),
  Command.validate(({ from, to }) =>
    from !== undefined && to !== undefined && from >= to
      ? Effect.fail(new CliError.ValidationError({ message: "--from must be before --to" }))
      : Effect.void
  )
)

export const usage = <E, R>({ inspection }: CommandLayers<E, R>) =>
  Command.make("usage").pipe(
    Command.withDescription("Count searches across all accounts"),
    Command.withSubcommands([top.pipe(writesNothing, Command.provide(inspection))])
  )
