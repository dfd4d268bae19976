import { Effect } from "effect"
import { Command } from "effect/cli"
import { Accounts } from "../../services/accounts/Accounts.ts"
import { People } from "../../services/accounts/People.ts"
import { writesMore } from "../effects.ts"
import { accountId } from "../flags.ts"
import type { CommandLayers } from "../layers.ts"
import { print } from "../Output.ts"
import { audited } from "../operations/audited.ts"

const end = Command.make(
  "end",
  { account: accountId("account") },
  Effect.fn(function* (input) {
    const account = yield* Effect.flatMap(Accounts, (accounts) => accounts.byId(input.account))
    const people = yield* People
    const ended = yield* audited(people.endSessions(account.id), (sessions) => ({
      command: "sessions end",
      subject: account.id,
      arguments: { sessions }
    }))
    yield* print({ account_id: account.id, ended }, [`Ended ${ended} sessions and disconnected all apps.`])
  })
).pipe(Command.withDescription("End all sessions of an account and disconnect its apps"))

export const sessions = <E, R>({ storage }: CommandLayers<E, R>) =>
  Command.make("sessions").pipe(
    Command.withDescription("Manage sign-in sessions"),
    Command.withSubcommands([end.pipe(writesMore, Command.provide(storage))])
  )
