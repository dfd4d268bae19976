import type { Layer } from "effect"
import { Command } from "effect/cli"
import type { AccountRemoval } from "../services/AccountRemoval.ts"
import type { Accounts } from "../services/Accounts.ts"
import type { Audit } from "../services/Audit.ts"
import type { BillingBooks } from "../services/BillingBooks.ts"
import type { EventBooks } from "../services/EventBooks.ts"
import type { KeyStore } from "../services/KeyStore.ts"
import type { Ledger } from "../services/Ledger.ts"
import type { People } from "../services/People.ts"
import type { QueryLog } from "../services/QueryLog.ts"
import type { AppConfig } from "../settings/Settings.ts"
import { grant } from "./account/credits.ts"
import { type ExportAccount, exportWith, list, search, show, usage } from "./account/look.ts"
import { remove, resume, signInLink, suspend } from "./account/state.ts"
import { create, setEmail, setPlan } from "./account/terms.ts"
import { adjust } from "./adjust.ts"

type Services =
  | AccountRemoval
  | Accounts
  | AppConfig
  | Audit
  | BillingBooks
  | EventBooks
  | KeyStore
  | Ledger
  | People
  | QueryLog

export const account = <E, R>(storage: Layer.Layer<Services, E, R>, exportAccount: ExportAccount) =>
  Command.make("account").pipe(
    Command.withDescription("Accounts, their plans and their credits"),
    Command.withSubcommands([
      create.pipe(Command.provide(storage)),
      show.pipe(Command.provide(storage)),
      list.pipe(Command.provide(storage)),
      search.pipe(Command.provide(storage)),
      usage.pipe(Command.provide(storage)),
      setPlan.pipe(Command.provide(storage)),
      setEmail.pipe(Command.provide(storage)),
      grant.pipe(Command.provide(storage)),
      adjust("account", "id").pipe(Command.provide(storage)),
      suspend.pipe(Command.provide(storage)),
      resume.pipe(Command.provide(storage)),
      signInLink.pipe(Command.provide(storage)),
      exportWith(exportAccount).pipe(Command.provide(storage)),
      remove.pipe(Command.provide(storage))
    ])
  )
