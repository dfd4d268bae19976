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
import { writesAudit, writesMore, writesNothing } from "./effects.ts"

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

interface Layers<E, R> {
  readonly reading: Layer.Layer<Accounts | AppConfig | Ledger | QueryLog, E, R>
  readonly storage: Layer.Layer<Services, E, R>
  readonly exportAccount: ExportAccount
}

export const account = <E, R>({ exportAccount, reading, storage }: Layers<E, R>) =>
  Command.make("account").pipe(
    Command.withDescription("Manage accounts, plans, and credits"),
    Command.withSubcommands([
      create.pipe(writesMore, Command.provide(storage)),
      show.pipe(writesNothing, Command.provide(reading)),
      list.pipe(writesNothing, Command.provide(reading)),
      search.pipe(writesNothing, Command.provide(reading)),
      usage.pipe(writesNothing, Command.provide(reading)),
      setPlan.pipe(writesMore, Command.provide(storage)),
      setEmail.pipe(writesMore, Command.provide(storage)),
      grant.pipe(writesMore, Command.provide(storage)),
      adjust("account", "id").pipe(writesMore, Command.provide(storage)),
      suspend.pipe(writesMore, Command.provide(storage)),
      resume.pipe(writesMore, Command.provide(storage)),
      signInLink.pipe(writesMore, Command.provide(storage)),
      exportWith(exportAccount).pipe(writesAudit, Command.provide(storage)),
      remove.pipe(writesMore, Command.provide(storage))
    ])
  )
