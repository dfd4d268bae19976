import { Effect, Option, Redacted } from "effect"
import { Command, Flag } from "effect/cli"
import { AccountRemoval } from "../../services/accounts/AccountRemoval.ts"
import { Accounts } from "../../services/accounts/Accounts.ts"
import { People } from "../../services/accounts/People.ts"
import { QueryLog } from "../../services/charging/QueryLog.ts"
import { accountId, reason, requireYes, yes } from "../flags.ts"
import { print, time } from "../Output.ts"
import { audited } from "../operations/audited.ts"
import { printAccount } from "./output.ts"

const id = accountId("id")

export const suspend = Command.make(
  "suspend",
  { id, reason: reason("audit log") },
  Effect.fn(function* (input) {
    const accounts = yield* Accounts
    const account = yield* audited(accounts.suspend(input.id), ({ id }) => ({
      command: "account suspend",
      subject: id,
      arguments: { reason: input.reason }
    }))
    yield* printAccount(account, "All its credentials stop working on every replica within 10 seconds.")
  })
).pipe(Command.withDescription("Reject all credentials of an account; its keys, credits, and log are kept"))

export const resume = Command.make(
  "resume",
  { id, reason: reason("audit log").pipe(Flag.optional) },
  Effect.fn(function* (input) {
    const accounts = yield* Accounts
    const account = yield* audited(accounts.resume(input.id), ({ id }) => ({
      command: "account resume",
      subject: id,
      arguments: { reason: Option.getOrUndefined(input.reason) }
    }))
    yield* printAccount(account, "Its credentials work again on every replica within 10 seconds.")
  })
).pipe(Command.withDescription("Lift the suspension of an account"))

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
      `Deleted ${account.id} and its personal data. Billing records are kept, and the address cannot start another trial.`
    ])
  })
).pipe(Command.withDescription("Delete an account and its personal data"))

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
      `Anyone with this link can set the account's password once, until ${time(expiresAt)}. This ends all its sessions.`
    ])
  })
).pipe(Command.withDescription("Print a one-time link to set the account's password"))
