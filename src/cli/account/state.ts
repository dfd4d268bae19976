import { Effect, Option, Redacted } from "effect"
import { Command, Flag } from "effect/cli"
import { AccountRemoval } from "../../services/AccountRemoval.ts"
import { Accounts } from "../../services/Accounts.ts"
import { People } from "../../services/People.ts"
import { QueryLog } from "../../services/QueryLog.ts"
import { audited } from "../audited.ts"
import { accountId, reason, requireYes, yes } from "../flags.ts"
import { print, time } from "../Output.ts"
import { printAccount } from "./output.ts"

/** The commands that shut an account, open it, or let its person in. */

const id = accountId("id")

export const suspend = Command.make(
  "suspend",
  { id, reason: reason.pipe(Flag.withDescription("Why, for the audit")) },
  Effect.fn(function* (input) {
    const accounts = yield* Accounts
    const account = yield* audited(accounts.suspend(input.id), ({ id }) => ({
      command: "account suspend",
      subject: id,
      arguments: { reason: input.reason }
    }))
    yield* printAccount(account, "None of its credentials works any more, on any replica, within 10 seconds.")
  })
).pipe(Command.withDescription("Accept no credential of an account; its keys, credits and log stay"))

export const resume = Command.make(
  "resume",
  { id, reason: reason.pipe(Flag.withDescription("Why, for the audit"), Flag.optional) },
  Effect.fn(function* (input) {
    const accounts = yield* Accounts
    const account = yield* audited(accounts.resume(input.id), ({ id }) => ({
      command: "account resume",
      subject: id,
      arguments: { reason: Option.getOrUndefined(input.reason) }
    }))
    yield* printAccount(account, "Its credentials work again, on every replica, within 10 seconds.")
  })
).pipe(Command.withDescription("Accept the credentials of a suspended account again"))

export const remove = Command.make(
  "delete",
  { id, yes },
  Effect.fn(function* (input) {
    const account = yield* Effect.flatMap(Accounts, (accounts) => accounts.byId(input.id))
    yield* requireYes(input.yes, `This deletes ${account.id} (${account.email || "no address"}) for good.`)
    const removal = yield* AccountRemoval
    yield* audited(removal.end(account.id), () => ({ command: "account delete", subject: account.id }))
    yield* Effect.flatMap(QueryLog, (log) => log.erase(account.id))
    yield* print({ account_id: account.id, deleted: true }, [
      `Deleted ${account.id} and its person's data. The books stay, and so does the address's claim on its trial.`
    ])
  })
).pipe(Command.withDescription("Delete an account and its person's data, as the person can"))

export const signInLink = Command.make(
  "sign-in-link",
  { id },
  Effect.fn(function* (input) {
    const account = yield* Effect.flatMap(Accounts, (accounts) => accounts.byId(input.id))
    const people = yield* People
    const { expiresAt, link } = yield* audited(people.makeSignInLink(account), () => ({
      command: "account sign-in-link",
      subject: account.id
    }))
    yield* print({ account_id: account.id, link: Redacted.value(link), expires_at: time(expiresAt) }, [
      Redacted.value(link),
      `Whoever opens it chooses the account's password, once, until ${time(expiresAt)}. It ends the person's sessions.`
    ])
  })
).pipe(Command.withDescription("Print a link with which the account's person chooses a password, once"))
