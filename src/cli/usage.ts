import { Clock, DateTime, Effect, type Layer, Option, Schema } from "effect"
import { CliError, Command, Flag } from "effect/cli"
import { OperatorLog, usageGroups } from "../services/OperatorLog.ts"
import { print, table, time } from "./Output.ts"

const dayMs = 86_400_000
const maxGroups = 1_000

/** A date or a time with its offset, as in `account set-plan --cycle-start`. */
const isoTime = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/

const moment = (name: string, description: string) =>
  Flag.String(name).pipe(
    Flag.withDescription(description),
    Flag.filterMap(
      (text) => (isoTime.test(text) ? Option.map(DateTime.make(text), DateTime.toEpochMillis) : Option.none()),
      () => "an ISO 8601 date or time such as 2026-01-31 or 2026-01-31T08:00:00Z"
    ),
    Flag.optional
  )

const top = Command.make(
  "top",
  {
    by: Flag.Literals("by", usageGroups).pipe(
      Flag.withDescription("What to count by; accounts by default"),
      Flag.withDefault("account")
    ),
    from: moment("from", "Begin of the time that is counted; a day before its end by default"),
    to: moment("to", "End of the time that is counted, itself not in it; now by default"),
    limit: Flag.Int("limit").pipe(
      Flag.withDescription(`The most lines, up to ${maxGroups}`),
      Flag.withSchema(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: maxGroups }))),
      Flag.withDefault(20)
    )
  },
  Effect.fn(function* (input) {
    const to = Option.isSome(input.to) ? input.to.value : yield* Clock.currentTimeMillis
    const from = Option.getOrElse(input.from, () => to - dayMs)
    if (from >= to) return yield* new CliError.ValidationError({ message: "--from must be before --to" })
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
).pipe(Command.withDescription("Show who searches most: accounts, keys, targets, providers or sources"))

export const usage = <E, R>(log: Layer.Layer<OperatorLog, E, R>) =>
  Command.make("usage").pipe(
    Command.withDescription("Searches over all accounts"),
    Command.withSubcommands([top.pipe(Command.provide(log))])
  )
