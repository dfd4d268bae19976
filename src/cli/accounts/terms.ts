import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { normalizeEmail } from "../../domain/accounts/emailAddress.ts"
import { type Plan, plans } from "../../domain/credits/Plan.ts"
import { Accounts, maxConcurrency } from "../../services/accounts/Accounts.ts"
import { People } from "../../services/accounts/People.ts"
import { accountId, between, email, limits, moment } from "../flags.ts"
import { print, table, time } from "../Output.ts"
import { audited } from "../operations/audited.ts"
import { accountLines, printAccount } from "./output.ts"

const choiceFlags = {
  quota: Flag.Int("quota").pipe(
    Flag.withDescription("Searches per period (default: the plan's quota)"),
    Flag.withSchema(between(0, limits.credits)),
    Flag.optional
  ),
  concurrency: Flag.Int("concurrency").pipe(
    Flag.withDescription("Searches that one batch runs at once (default: the plan's concurrency)"),
    Flag.withSchema(between(1, maxConcurrency)),
    Flag.optional
  ),
  cycleStart: moment(
    "cycle-start",
    "Start of the billing cycle in ISO 8601 (default: calendar months, or the current cycle)"
  )
}

const planFlag = Flag.Literals("plan", plans).pipe(Flag.withDescription("The account's plan"))

interface Choice {
  readonly plan: Plan
  readonly quota: Option.Option<number>
  readonly concurrency: Option.Option<number>
  readonly cycleStart: Option.Option<number>
}

const choiceOf = (input: Choice) => ({
  plan: input.plan,
  quota: Option.getOrUndefined(input.quota),
  concurrency: Option.getOrUndefined(input.concurrency),
  cycleStart: Option.getOrUndefined(input.cycleStart)
})

const auditedChoice = (input: Choice) => {
  const { concurrency, cycleStart, plan, quota } = choiceOf(input)
  return { plan, quota, concurrency, cycle_start: time(cycleStart) ?? undefined }
}

export const create = Command.make(
  "create",
  { email, plan: planFlag.pipe(Flag.withDefault("trial")), ...choiceFlags },
  Effect.fn(function* (input) {
    const accounts = yield* Accounts
    const account = yield* audited(
      accounts.create({ ...choiceOf(input), email: normalizeEmail(input.email) }),
      ({ id }) => ({ command: "account create", subject: id, arguments: auditedChoice(input) })
    )
    yield* print({ account_id: account.id, email: account.email, plan: account.plan }, table(accountLines(account)))
  })
).pipe(Command.withDescription("Create an account"))

export const setPlan = Command.make(
  "set-plan",
  { id: accountId("id"), plan: planFlag, ...choiceFlags },
  Effect.fn(function* (input) {
    const accounts = yield* Accounts
    const account = yield* audited(accounts.setPlan(input.id, choiceOf(input)), ({ id }) => ({
      command: "account set-plan",
      subject: id,
      arguments: auditedChoice(input)
    }))
    yield* printAccount(account)
  })
).pipe(Command.withDescription("Change an account's plan now; credits used in this period stay used"))

export const setEmail = Command.make(
  "set-email",
  { id: accountId("id"), email },
  Effect.fn(function* (input) {
    const accounts = yield* Accounts
    const people = yield* People
    const before = yield* accounts.byId(input.id)
    const change = Effect.tap(accounts.setEmail(input.id, input.email), () => people.setEmail(before, input.email))
    yield* printAccount(yield* audited(change, ({ id }) => ({ command: "account set-email", subject: id })))
  })
).pipe(Command.withDescription("Change the email address of an account, and of its member who signs in with it"))
