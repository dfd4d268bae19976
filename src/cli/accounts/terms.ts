import { Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { normalizeEmail } from "../../domain/accounts/emailAddress.ts"
import { Accounts } from "../../services/accounts/Accounts.ts"
import * as acts from "../../services/operations/acts/accounts.ts"
import { email } from "../flags.ts"
import { print, table } from "../Output.ts"
import { actFlags, planFlag, planFlags } from "../operations/actFlags.ts"
import { audited } from "../operations/audited.ts"
import { asOperator } from "../operations/operator.ts"
import { accountLines, printAccount } from "./output.ts"

export const create = Command.make(
  "create",
  { email, plan: planFlag.pipe(Flag.withDefault("trial")), ...planFlags },
  Effect.fn(function* (input) {
    const accounts = yield* Accounts
    const { choice, ...record } = acts.choiceOf(input)
    const created = accounts.create({ ...choice, email: normalizeEmail(input.email) })
    const account = yield* audited(created, ({ id }) => ({ command: "account create", subject: id, ...record }))
    yield* print({ account_id: account.id, email: account.email, plan: account.plan }, table(accountLines(account)))
  })
).pipe(Command.withDescription("Create an account"))

export const setPlan = Command.make(
  "set-plan",
  actFlags["account set-plan"],
  Effect.fn(function* (input) {
    yield* printAccount(yield* asOperator(acts.setPlan(input)))
  })
).pipe(Command.withDescription("Change an account's plan now; credits used in this period stay used"))

export const setEmail = Command.make(
  "set-email",
  actFlags["account set-email"],
  Effect.fn(function* (input) {
    yield* printAccount(yield* asOperator(acts.setEmail(input)))
  })
).pipe(Command.withDescription("Change the email address of an account, and of its member who signs in with it"))
