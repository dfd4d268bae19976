import type { Layer } from "effect"
import { Command } from "effect/cli"
import type { AccountRemoval } from "../../services/accounts/AccountRemoval.ts"
import type { Accounts } from "../../services/accounts/Accounts.ts"
import type { People } from "../../services/accounts/People.ts"
import type { BillingBooks } from "../../services/billing/BillingBooks.ts"
import type { Ledger } from "../../services/credits/Ledger.ts"
import type { KeyStore } from "../../services/keys/KeyStore.ts"
import type { Audit } from "../../services/operations/Audit.ts"
import type { QueryLog } from "../../services/search/QueryLog.ts"
import type { EventBooks } from "../../services/webhooks/EventBooks.ts"
import type { AppConfig } from "../../settings/Settings.ts"
import { adjust } from "../credits/adjust.ts"
import { writesAudit, writesMore, writesNothing } from "../effects.ts"
import { grant } from "./credits.ts"
import { type ExportAccount, exportWith, list, search, show, usage } from "./look.ts"
import { remove, resume, signInLink, suspend } from "./state.ts"
import { create, setEmail, setPlan } from "./terms.ts"

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
