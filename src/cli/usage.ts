import { Clock, Effect, type Layer, Option } from "effect"
import { CliError, Command, Flag } from "effect/cli"
import { OperatorLog, usageGroups } from "../services/OperatorLog.ts"
import { limit, moment } from "./flags.ts"
import { CommandFailed, print, table, time } from "./Output.ts"

const dayMs = 86_400_000

const top = Command.make(
  "top",
  {
    by: Flag.Literals("by", usageGroups).pipe(
      Flag.withDescription("What to count by; accounts by default"),
      Flag.withDefault("account")
    ),
    from: moment("from", "Begin of the time that is counted; a day before its end by default"),
    to: moment("to", "End of the time that is counted, itself not in it; now by default"),
    limit: limit(20)
  },
  Effect.fn(function* (input) {
    const to = Option.isSome(input.to) ? input.to.value : yield* Clock.currentTimeMillis
    const from = Option.getOrElse(input.from, () => to - dayMs)
    // The present moment is not known before the command runs, so that this is no mistake that the library shows.
    if (from >= to) return yield* new CommandFailed({ message: "--from must be before now, or give --to" })
    const { by, limit } = input
    const found = yield* Effect.flatMap(OperatorLog, (log) => log.top({ by, from, to, limit }))
    yield* print(
      {
        by,
        from: time(from),
        to: time(to),
        top: found.map(({ cached, credits, email, group, outcomes, searches }) => ({
          [by]: group ?? null,
          ...(by === "account" ? { email: email ?? null } : {}),
          searches,
          credits,
          cached,
          outcomes
        }))
      },
      [
        `From ${time(from)} to ${time(to)}`,
        "",
        ...table([
          [
            by.toUpperCase(),
            "SEARCHES",
            "CREDITS",
            "CACHED",
            "OK",
            "ERROR",
            "TIMEOUT",
            by === "account" ? "EMAIL" : ""
          ],
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
      ]
    )
  })
).pipe(
  Command.withDescription("Show who searches most: accounts, keys, targets, providers or sources"),
  Command.validate(({ from, to }) =>
    Option.isSome(from) && Option.isSome(to) && from.value >= to.value
      ? Effect.fail(new CliError.ValidationError({ message: "--from must be before --to" }))
      : Effect.void
  )
)

export const usage = <E, R>(log: Layer.Layer<OperatorLog, E, R>) =>
  Command.make("usage").pipe(
    Command.withDescription("Searches over all accounts"),
    Command.withSubcommands([top.pipe(Command.provide(log))])
  )
