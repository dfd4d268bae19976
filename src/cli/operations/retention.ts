import { Duration, Effect } from "effect"
import { Argument, Command } from "effect/cli"
import { durationText } from "../../domain/durationText.ts"
import { droppedAt, type LogMonth } from "../../domain/operations/LogMonth.ts"
import { LogRetention } from "../../services/operations/LogRetention.ts"
import { AppConfig } from "../../settings/Settings.ts"
import { table as settings } from "../../settings/table.ts"
import { writesMore, writesNothing } from "../effects.ts"
import { requireYes, yes } from "../flags.ts"
import type { CommandLayers } from "../layers.ts"
import { print, table, time } from "../Output.ts"
import { audited } from "./audited.ts"

const daysOf = (ms: number): number => Duration.toDays(Duration.millis(ms))

const mebibytes = (bytes: number): string => `${Math.round(bytes / 1_048_576)} MiB`

const show = Command.make(
  "show",
  {},
  Effect.fn(function* () {
    const { months, now, retentionMs } = yield* Effect.flatMap(LogRetention, ({ look }) => look)
    // Months are created ahead of time, so the latest ones have not begun.
    const begun = months.filter(({ end }, index) => end <= now || (months[index - 1]?.end ?? 0) <= now)
    const dropped = (month: LogMonth) => (retentionMs === undefined ? null : time(droppedAt(month, retentionMs)))
    yield* print(
      {
        retention_days: retentionMs === undefined ? null : daysOf(retentionMs),
        months: begun.map((month) => ({
          month: month.name,
          searches: month.searches ?? null,
          bytes: month.bytes,
          dropped_at: dropped(month)
        }))
      },
      [
        retentionMs === undefined
          ? "No retention is stored yet. The first server start stores it."
          : `Searches are kept for ${durationText(retentionMs)}, by whole months.`,
        "",
        ...table([
          ["MONTH", "SEARCHES, ABOUT", "SIZE", "DROPPED AFTER"],
          ...begun.map((month) => [
            month.name,
            `${month.searches ?? "?"}`,
            mebibytes(month.bytes),
            dropped(month) ?? "-"
          ])
        ])
      ]
    )
  })
).pipe(Command.withDescription("Show how long searches are kept and when each month of the log is dropped"))

const monthsText = (months: ReadonlyArray<LogMonth>): string => {
  const [first, last] = [months[0]?.name, months.at(-1)?.name]
  return first === last ? `the month ${first}` : `the ${months.length} months from ${first} to ${last}`
}

const consequence = (months: ReadonlyArray<LogMonth>): string =>
  months.length === 0
    ? "This shortens the retention, but drops no month yet."
    : `This drops ${monthsText(months)} of the query log for good, within the hour.`

const set = Command.make(
  "set",
  {
    retention: Argument.String("retention").pipe(
      Argument.withDescription(`How long searches are kept: ${settings.queryLogRetention.form.takes}`),
      Argument.filterMap(settings.queryLogRetention.form.decode, () => settings.queryLogRetention.form.takes)
    ),
    yes
  },
  Effect.fn(function* (input) {
    const log = yield* LogRetention
    const { queryLogRetention } = yield* AppConfig
    const { months, now, retentionMs: before } = yield* log.look
    const retentionMs = Duration.toMillis(input.retention)
    const gone = months.filter((month) => droppedAt(month, retentionMs) <= now)
    if (before === undefined || retentionMs < before) yield* requireYes(input.yes, consequence(gone))
    yield* audited(log.set(retentionMs), () => ({
      command: "retention set",
      subject: undefined,
      arguments: {
        retention_days: daysOf(retentionMs),
        previous_days: before === undefined ? undefined : daysOf(before)
      }
    }))
    const isLengthenedAgain = queryLogRetention !== undefined && Duration.toMillis(queryLogRetention) > retentionMs
    yield* print(
      {
        retention_days: daysOf(retentionMs),
        previous_days: before === undefined ? null : daysOf(before),
        months_to_drop: gone.map(({ name }) => name)
      },
      [
        `Searches are kept for ${durationText(retentionMs)}.`,
        ...(gone.length === 0 ? [] : [`The server drops ${monthsText(gone)} within the hour.`]),
        ...(isLengthenedAgain
          ? ["QUERY_LOG_RETENTION is longer, so a server that starts with it lengthens the retention again."]
          : [])
      ]
    )
  })
).pipe(
  Command.withDescription(
    "Set how long searches are kept. A shorter retention drops months of the log and requires --yes"
  )
)

export const retention = <E, R>({ reading, storage }: CommandLayers<E, R>) =>
  Command.make("retention").pipe(
    Command.withDescription("Show or set how long the query log is kept"),
    Command.withSubcommands([
      show.pipe(writesNothing, Command.provide(reading)),
      set.pipe(writesMore, Command.provide(storage))
    ])
  )
