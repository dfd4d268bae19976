import { Command } from "effect/cli"
import { adjustAccount } from "../credits/adjust.ts"
import { writesAudit, writesMore, writesNothing } from "../effects.ts"
import type { CommandLayers } from "../layers.ts"
import { grant } from "./credits.ts"
import { events } from "./events.ts"
import { exportWith, list, search, show, usage } from "./look.ts"
import { remove, resume, signInLink, suspend } from "./state.ts"
import { create, setEmail, setPlan } from "./terms.ts"

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
