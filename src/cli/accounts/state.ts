import { Effect, Redacted } from "effect"
import { Command } from "effect/cli"
import { Accounts } from "../../services/accounts/Accounts.ts"
import { People } from "../../services/accounts/People.ts"
import * as accounts from "../../services/operations/acts/accounts.ts"
import { accountId, requireYes } from "../flags.ts"
import { print, time } from "../Output.ts"
import { actFlags } from "../operations/actFlags.ts"
import { audited } from "../operations/audited.ts"
import { asOperator } from "../operations/operator.ts"
import { printAccount } from "./output.ts"

export const suspend = Command.make(
  "suspend",
  actFlags["account suspend"],
  Effect.fn(function* (input) {
    const account = yield* asOperator(accounts.suspend(input))
    yield* printAccount(account, "All its credentials stop working on every replica within 10 seconds.")
  })
).pipe(Command.withDescription("Reject all credentials of an account; its keys, credits, and log are kept"))

export const resume = Command.make(
  "resume",
  actFlags["account resume"],
  Effect.fn(function* (input) {
    const account = yield* asOperator(accounts.resume(input))
    yield* printAccount(account, "Its credentials work again on every replica within 10 seconds.")
  })
).pipe(Command.withDescription("Lift the suspension of an account"))

export const remove = Command.make(
  "delete",
  actFlags["account delete"],
  Effect.fn(function* (input) {
    const account = yield* accounts.accountById(input.id)
    yield* requireYes(input.yes, `This deletes ${account.id} (${account.email || "no address"}) for good.`)
    yield* print(yield* asOperator(accounts.remove({ id: account.id, yes: true })), [
      `Deleted ${account.id} and its personal data. Billing records are kept, and the address cannot start another trial.`
    ])
  })
).pipe(Command.withDescription("Delete an account and its personal data"))

export const signInLink = Command.make(
  "sign-in-link",
  { id: accountId("id") },
  Effect.fn(function* (input) {
    const account = yield* Effect.flatMap(Accounts, (accounts) => accounts.byId(input.id))
    const people = yield* People
    const { expiresAt, link } = yield* audited(people.makeSignInLink(account), () => ({
      command: "account sign-in-link",
      subject: account.id
    }))
    yield* print({ account_id: account.id, link: Redacted.value(link), expires_at: time(expiresAt) }, [
      Redacted.value(link),
      `Anyone with this link can set the account's password once, until ${time(expiresAt)}. This ends all its sessions.`
    ])
  })
).pipe(Command.withDescription("Print a one-time link to set the account's password"))
