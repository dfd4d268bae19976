import { Effect, Redacted } from "effect"
import { CliError, Command } from "effect/cli"
import { MemberChange } from "../../domain/accounts/MemberRequest.ts"
import { decoder } from "../../domain/requests/fields.ts"
import { Accounts } from "../../services/accounts/Accounts.ts"
import { type Member, Members } from "../../services/accounts/Members.ts"
import * as acts from "../../services/operations/acts/members.ts"
import { memberJson } from "../../services/operations/views/memberJson.ts"
import { writesMore, writesNothing } from "../effects.ts"
import { accountId, email } from "../flags.ts"
import { bodyOf, boundsText, budgetFlag, readBounds, targetsFlag } from "../keys/bounds.ts"
import type { CommandLayers } from "../layers.ts"
import { CommandFailed, print, table, textOf } from "../Output.ts"
import { actCommand } from "../operations/actCommand.ts"
import { actFlags, roleFlag } from "../operations/actFlags.ts"
import { audited } from "../operations/audited.ts"

const account = accountId("account")

const lines = (members: ReadonlyArray<Member>) =>
  table([
    ["MEMBER", "ROLE", "STATUS", "BOUNDS", "EMAIL"],
    ...members.map((it) => [it.id, it.role, it.status, boundsText(it) || "-", it.email])
  ])

const list = Command.make(
  "list",
  { account },
  Effect.fn(function* (input) {
    const { id } = yield* Effect.flatMap(Accounts, (accounts) => accounts.byId(input.account))
    const members = yield* Effect.flatMap(Members, (service) => service.list(id))
    yield* print({ members: members.map(memberJson) }, lines(members))
  })
).pipe(Command.withDescription("List the members and invitations of an account"))

const failWith = (error: { readonly message: string }) => Effect.fail(new CommandFailed({ message: error.message }))

const add = Command.make(
  "add",
  { account, email, role: roleFlag },
  Effect.fn(function* (input) {
    const account = yield* Effect.flatMap(Accounts, (accounts) => accounts.byId(input.account))
    const members = yield* Members
    const invited = members.invite(account, input.email, input.role).pipe(
      Effect.catchTags({
        invalid_request: ({ issues }) => failWith({ message: `This address ${textOf(issues)}.` }),
        rate_limited: failWith
      })
    )
    const { link, member } = yield* audited(invited, ({ member }) =>
      acts.memberRecord("member add", account.id, member)
    )
    yield* print({ ...memberJson(member), link: Redacted.value(link) }, [
      Redacted.value(link),
      `This link was not emailed. The first person who opens it within seven days and chooses Join becomes ${member.role} of ${account.id}.`
    ])
  })
).pipe(Command.withDescription("Invite a person to an account and print the link, which is not sent"))

const remove = actCommand("remove", "Remove a member or an invitation from an account", {
  flags: actFlags["member remove"],
  act: (input) => Effect.catchTag(acts.removeMember(input), "last_owner", failWith),
  show: (member) =>
    print(memberJson(member), [`Removed ${member.email}. Their sessions and apps in this account have ended.`])
})

const setRole = actCommand("role", "Change the role of a member or an invitation", {
  flags: actFlags["member role"],
  act: (input) => Effect.catchTag(acts.setRole(input), "last_owner", failWith),
  show: (member) => print(memberJson(member), [`${member.email} is now ${member.role}. This takes effect at once.`])
})

const decodeBounds = decoder(MemberChange)

const bounds = Command.make(
  "bounds",
  { account, email, targets: targetsFlag("member"), budget: budgetFlag("member") },
  Effect.fn(function* (input) {
    const found = yield* acts.findMember(input.account, input.email)
    const members = yield* Members
    const flags = { ...input, budgetPeriod: "month" }
    const change = yield* Effect.fromResult(readBounds(flags, decodeBounds))
    const changed = members.change(input.account, found.id, change).pipe(Effect.catchTag("last_owner", failWith))
    const member = yield* audited(changed, (it) => ({
      command: "member bounds",
      subject: input.account,
      arguments: { member: it.id, ...bodyOf(flags) }
    }))
    yield* print(memberJson(member), [
      `Bounds of ${member.email}: ${boundsText(member) || "none"}. This takes effect within 10 seconds.`
    ])
  })
).pipe(
  Command.withDescription(
    "Limit what a member's sessions, apps, and keys may spend together each month, and their targets"
  ),
  Command.validate(({ budget, targets }) =>
    budget !== undefined || targets !== undefined
      ? Effect.void
      : Effect.fail(new CliError.ValidationError({ message: "Give at least one of --targets, --budget" }))
  )
)

export const member = <E, R>({ storage }: CommandLayers<E, R>) =>
  Command.make("member").pipe(
    Command.withDescription("Manage the people of an account"),
    Command.withSubcommands([
      list.pipe(writesNothing, Command.provide(storage)),
      add.pipe(writesMore, Command.provide(storage)),
      remove.pipe(writesMore, Command.provide(storage)),
      setRole.pipe(writesMore, Command.provide(storage)),
      bounds.pipe(writesMore, Command.provide(storage))
    ])
  )
