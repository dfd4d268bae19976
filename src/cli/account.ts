import { DateTime, Effect, type Layer, Option, Schema } from "effect"
import { CliError, Command, Flag } from "effect/cli"
import { type Account, type Allowance, remaining } from "../domain/Account.ts"
import { maxEmailCharacters, normalizeEmail, type Plan, plans } from "../domain/Plan.ts"
import { Accounts, maxConcurrency } from "../services/Accounts.ts"
import { Ledger } from "../services/Ledger.ts"
import { print, table, time } from "./Output.ts"

/** Figures beyond these are typing mistakes. */
const limits = { credits: 1_000_000_000, reasonCharacters: 500 }

const Email = Schema.String.check(
  Schema.isPattern(/^\s*[^\s@]+@[^\s@]+\s*$/, { message: "must be an email address" }),
  Schema.isMaxLength(maxEmailCharacters, { message: `must have at most ${maxEmailCharacters} characters` })
)

const between = (minimum: number, maximum: number) =>
  Schema.Int.check(
    Schema.isBetween({ minimum, maximum }, { message: `must be a whole number from ${minimum} to ${maximum}` })
  )

/** A date or a time with its offset: `2026-01-31`, `2026-01-31T08:00:00Z`. A time without an offset would be a guess. */
const isoTime = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/

const id = Flag.String("id").pipe(Flag.withDescription("The account's id: acc_…"))
const email = Flag.String("email").pipe(
  Flag.withDescription("Email address, in any letter case"),
  Flag.withSchema(Email)
)

const choiceFlags = {
  quota: Flag.Int("quota").pipe(
    Flag.withDescription("Searches a period allows; the plan's own figure by default"),
    Flag.withSchema(between(0, limits.credits)),
    Flag.optional
  ),
  concurrency: Flag.Int("concurrency").pipe(
    Flag.withDescription("Searches one request runs side by side; the plan's own figure by default"),
    Flag.withSchema(between(1, maxConcurrency)),
    Flag.optional
  ),
  cycleStart: Flag.String("cycle-start").pipe(
    Flag.withDescription("Start of the subscription in ISO 8601; calendar months, or the present cycle, by default"),
    Flag.filterMap(
      (text) => (isoTime.test(text) ? Option.map(DateTime.make(text), DateTime.toEpochMillis) : Option.none()),
      () => "an ISO 8601 date or time such as 2026-01-31 or 2026-01-31T08:00:00Z"
    ),
    Flag.optional
  )
}

const planFlag = Flag.Literals("plan", plans).pipe(Flag.withDescription("The account's plan"))

const choiceOf = (input: {
  readonly plan: Plan
  readonly quota: Option.Option<number>
  readonly concurrency: Option.Option<number>
  readonly cycleStart: Option.Option<number>
}) => ({
  plan: input.plan,
  quota: Option.getOrUndefined(input.quota),
  concurrency: Option.getOrUndefined(input.concurrency),
  cycleStart: Option.getOrUndefined(input.cycleStart)
})

const accountJson = (account: Account) => ({
  account_id: account.id,
  email: account.email,
  plan: account.plan,
  quota: account.quota ?? null,
  concurrency: account.concurrency,
  cycle_start: time(account.cycleStart),
  created_at: time(account.createdAt)
})

const accountLines = (account: Account): ReadonlyArray<ReadonlyArray<string>> => [
  ["Account", account.id],
  ["Email", account.email],
  ["Plan", account.plan],
  ["Quota", `${account.quota ?? "counted, never refused"}`],
  ["Concurrency", `${account.concurrency}`],
  ["Cycle start", time(account.cycleStart) ?? "calendar months"],
  ["Created", time(account.createdAt) ?? ""]
]

const allowanceJson = (allowance: Allowance) => ({
  quota: allowance.quota ?? null,
  used: allowance.used,
  remaining: allowance.quota === undefined ? null : remaining(allowance),
  period_start: time(allowance.periodStart),
  resets_at: time(allowance.resetsAt)
})

const create = Command.make(
  "create",
  { email, plan: planFlag.pipe(Flag.withDefault("trial")), ...choiceFlags },
  Effect.fn(function* (input) {
    const accounts = yield* Accounts
    const account = yield* accounts.create({ ...choiceOf(input), email: normalizeEmail(input.email) })
    yield* print({ account_id: account.id, email: account.email, plan: account.plan }, table(accountLines(account)))
  })
).pipe(Command.withDescription("Make an account"))

const show = Command.make(
  "show",
  { id: Flag.optional(id), email: Flag.optional(email) },
  Effect.fn(function* (input) {
    const accounts = yield* Accounts
    const ledger = yield* Ledger
    const account = yield* Option.isSome(input.id)
      ? accounts.byId(input.id.value)
      : accounts.byEmail(Option.getOrElse(input.email, () => ""))
    const allowance = yield* ledger.allowance(account)
    yield* print(
      { ...accountJson(account), allowance: allowanceJson(allowance), balance: allowance.balance },
      table([
        ...accountLines(account),
        ["Used", `${allowance.used}`],
        ["Resets", time(allowance.resetsAt) ?? "never"],
        ["Pack balance", `${allowance.balance}`]
      ])
    )
  })
).pipe(
  Command.withDescription("Show an account, what it has used and what it has left"),
  Command.validate(({ email, id }) =>
    Option.isSome(id) === Option.isSome(email)
      ? Effect.fail(new CliError.ValidationError({ message: "Name the account with either --id or --email" }))
      : Effect.void
  )
)

const setPlan = Command.make(
  "set-plan",
  { id, plan: planFlag, ...choiceFlags },
  Effect.fn(function* (input) {
    const accounts = yield* Accounts
    const account = yield* accounts.setPlan(input.id, choiceOf(input))
    yield* print(accountJson(account), table(accountLines(account)))
  })
).pipe(Command.withDescription("Change an account's plan from now on; what it used stays used"))

const grant = Command.make(
  "grant",
  {
    id,
    credits: Flag.Int("credits").pipe(
      Flag.withDescription("Pack credits to add"),
      Flag.withSchema(between(1, limits.credits))
    ),
    reason: Flag.String("reason").pipe(
      Flag.withDescription("Why, for the ledger"),
      Flag.withSchema(Schema.String.check(Schema.isBetweenLength(1, limits.reasonCharacters)))
    )
  },
  Effect.fn(function* (input) {
    const ledger = yield* Ledger
    const balance = yield* ledger.grant(input.id, input.credits, input.reason)
    yield* print({ balance }, [`Pack balance: ${balance}`])
  })
).pipe(Command.withDescription("Add pack credits to an account"))

export const account = <E, R>(storage: Layer.Layer<Accounts | Ledger, E, R>) =>
  Command.make("account").pipe(
    Command.withDescription("Accounts, their plans and their credits"),
    Command.withSubcommands([
      create.pipe(Command.provide(storage)),
      show.pipe(Command.provide(storage)),
      setPlan.pipe(Command.provide(storage)),
      grant.pipe(Command.provide(storage))
    ])
  )
