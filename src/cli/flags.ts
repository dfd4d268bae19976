import { DateTime, Effect, Option } from "effect"
import { CliError, Flag } from "effect/cli"
import { between, Email, Reason } from "../domain/operations/acts.ts"
import { CommandFailed } from "./Output.ts"

const maxListed = 1_000

export const accountId = (name: "id" | "account") => Flag.String(name).pipe(Flag.withDescription("Account id: acc_…"))

export const email = Flag.String("email").pipe(
  Flag.withDescription("Email address, in any letter case"),
  Flag.withSchema(Email)
)

/** A flag that is off unless it is given. */
export const toggle = (name: string, description: string) =>
  Flag.Boolean(name).pipe(Flag.withDescription(description), Flag.withDefault(false))

/** Undefined if the flag is not given. */
export const optional = <A>(flag: Flag.Flag<A>): Flag.Flag<A | undefined> =>
  flag.pipe(Flag.optional, Flag.map(Option.getOrUndefined))

export const optionalText = (name: string, description: string) =>
  Flag.String(name).pipe(Flag.withDescription(description), optional)

export const reason = (record: "audit log" | "ledger") =>
  Flag.String("reason").pipe(Flag.withDescription(`Reason to record in the ${record}`), Flag.withSchema(Reason))

/** A date, or a time with a UTC offset: without one, its time zone would be a guess. */
const isoTime = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/

export const moment = (name: string, description: string) =>
  Flag.String(name).pipe(
    Flag.withDescription(description),
    Flag.filterMap(
      (text) => (isoTime.test(text) ? Option.map(DateTime.make(text), DateTime.toEpochMillis) : Option.none()),
      () => "an ISO 8601 date or time such as 2026-01-31 or 2026-01-31T08:00:00Z"
    ),
    optional
  )

export const limit = (usual: number) =>
  Flag.Int("limit").pipe(
    Flag.withDescription(`Maximum number of entries, up to ${maxListed}`),
    Flag.withSchema(between(1, maxListed)),
    Flag.withDefault(usual)
  )

export const page = (last: string) => ({
  limit: limit(100),
  after: optionalText("after", `The last ${last} of the previous page: \`next\` in its output`)
})

/** The `--after` value for the next page; null if this page was not full. */
export const nextOf = <Id>(rows: ReadonlyArray<{ readonly id: Id }>, limit: number): Id | null =>
  rows.length < limit ? null : (rows.at(-1)?.id ?? null)

export const nextLines = (next: string | number | null): ReadonlyArray<string> =>
  next === null ? [] : [`For more entries, add --after ${next}`]

export const yes = toggle("yes", "Confirm. Without this flag, the command only says what it would do")

export const requireYes = (isConfirmed: boolean, consequence: string): Effect.Effect<void, CommandFailed> =>
  isConfirmed
    ? Effect.void
    : Effect.fail(new CommandFailed({ message: `${consequence} Repeat the command with --yes to do it.` }))

/** Fails unless exactly one of two flags is given. */
export const requireOne = (message: string, first: boolean, second: boolean) =>
  first === second ? Effect.fail(new CliError.ValidationError({ message })) : Effect.void
