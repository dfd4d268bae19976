import { Effect } from "effect"
import { Command } from "effect/cli"
import { Holds } from "../../services/credits/Holds.ts"
import { writesNothing } from "../effects.ts"
import { limit, optionalText, toggle } from "../flags.ts"
import type { CommandLayers } from "../layers.ts"
import { print, section, time } from "../Output.ts"

const list = Command.make(
  "list",
  {
    account: optionalText("account", "Only holds of this account: acc_…"),
    overdue: toggle("overdue", "Only holds whose lease expired at least a minute ago"),
    limit: limit(100)
  },
  Effect.fn(function* ({ account, limit, overdue }) {
    const service = yield* Holds
    const counts = yield* service.count
    const holds = yield* service.list({ accountId: account, overdueOnly: overdue, limit })
    yield* print(
      {
        ...counts,
        holds: holds.map((hold) => ({
          id: hold.id,
          account_id: hold.accountId,
          from_quota: hold.fromQuota,
          from_balance: hold.fromBalance,
          expires_at: time(hold.expiresAt),
          overdue: hold.isOverdue
        }))
      },
      [
        `${counts.open} open, ${counts.overdue} overdue`,
        ...section(
          ["HOLD", "ACCOUNT", "OF QUOTA", "OF BALANCE", "LEASE ENDS", ""],
          holds.map((hold) => [
            hold.id,
            hold.accountId,
            `${hold.fromQuota}`,
            `${hold.fromBalance}`,
            time(hold.expiresAt) ?? "",
            hold.isOverdue ? "overdue" : ""
          ])
        )
      ]
    )
  })
).pipe(Command.withDescription("List open holds, earliest lease end first"))

export const holds = <E, R>({ inspection }: CommandLayers<E, R>) =>
  Command.make("holds").pipe(
    Command.withDescription("Show credits held for running searches"),
    Command.withSubcommands([list.pipe(writesNothing, Command.provide(inspection))])
  )
