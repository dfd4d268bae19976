import { Effect, Redacted } from "effect"
import { Command, Flag } from "effect/cli"
import { normalizeEmail } from "../../domain/accounts/emailAddress.ts"
import { Accounts } from "../../services/accounts/Accounts.ts"
import { People } from "../../services/accounts/People.ts"
import * as acts from "../../services/operations/acts/accounts.ts"
import * as credits from "../../services/operations/acts/credits.ts"
import { adjustAccount } from "../credits/adjust.ts"
import { writesAudit, writesMore, writesNothing } from "../effects.ts"
import { accountId, email, requireYes } from "../flags.ts"
import type { CommandLayers } from "../layers.ts"
import { print, table, time } from "../Output.ts"
import { actCommand } from "../operations/actCommand.ts"
import { actFlags, planFlag, planFlags } from "../operations/actFlags.ts"
import { audited } from "../operations/audited.ts"
import { asOperator } from "../operations/operator.ts"
import { events } from "./events.ts"
import { exportWith, list, search, show, usage } from "./look.ts"
import { accountLines, printAccount } from "./output.ts"

const create = Command.make(
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

const setPlan = actCommand("set-plan", "Change an account's plan now; credits used in this period stay used", {
  flags: actFlags["account set-plan"],
  act: acts.setPlan,
  show: (account) => printAccount(account)
})

const setEmail = actCommand(
  "set-email",
  "Change the email address of an account, and of its member who signs in with it",
  { flags: actFlags["account set-email"], act: acts.setEmail, show: (account) => printAccount(account) }
)

const grant = actCommand("grant", "Add pack credits to an account", {
  flags: actFlags["account grant"],
  act: credits.grant,
  show: (granted) => print(granted, [`Pack balance: ${granted.balance}`])
})

const suspend = actCommand("suspend", "Reject all credentials of an account; its keys, credits, and log are kept", {
  flags: actFlags["account suspend"],
  act: acts.suspend,
  show: (account) => printAccount(account, "All its credentials stop working on every replica within 10 seconds.")
})

const resume = actCommand("resume", "Lift the suspension of an account", {
  flags: actFlags["account resume"],
  act: acts.resume,
  show: (account) => printAccount(account, "Its credentials work again on every replica within 10 seconds.")
})

const remove = Command.make(
  "delete",
  actFlags["account delete"],
  Effect.fn(function* (input) {
    const account = yield* acts.accountById(input.id)
    yield* requireYes(input.yes, `This deletes ${account.id} (${account.email || "no address"}) for good.`)
    yield* print(yield* asOperator(acts.remove({ id: account.id, yes: true })), [
      `Deleted ${account.id} and its personal data. Billing records are kept, and the address cannot start another trial.`
    ])
  })
).pipe(Command.withDescription("Delete an account and its personal data"))

const signInLink = Command.make(
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

export const account = <E, R>({ exportAccount, reading, storage }: CommandLayers<E, R>) =>
  Command.make("account").pipe(
    Command.withDescription("Manage accounts, plans, and credits"),
    Command.withSubcommands([
      create.pipe(writesMore, Command.provide(storage)),
      show.pipe(writesNothing, Command.provide(reading)),
      list.pipe(writesNothing, Command.provide(reading)),
      search.pipe(writesNothing, Command.provide(reading)),
      usage.pipe(writesNothing, Command.provide(reading)),
      events.pipe(writesNothing, Command.provide(reading)),
      setPlan.pipe(writesMore, Command.provide(storage)),
      setEmail.pipe(writesMore, Command.provide(storage)),
      grant.pipe(writesMore, Command.provide(storage)),
      adjustAccount.pipe(writesMore, Command.provide(storage)),
      suspend.pipe(writesMore, Command.provide(storage)),
      resume.pipe(writesMore, Command.provide(storage)),
      signInLink.pipe(writesMore, Command.provide(storage)),
      exportWith(exportAccount).pipe(writesAudit, Command.provide(storage)),
      remove.pipe(writesMore, Command.provide(storage))
    ])
  )
