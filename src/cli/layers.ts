import type { Layer } from "effect"
import type { SqlClient } from "effect/sql"
import type { AccountRemoval } from "../services/accounts/AccountRemoval.ts"
import type { Accounts } from "../services/accounts/Accounts.ts"
import type { Activity } from "../services/accounts/Activity.ts"
import type { Emails } from "../services/accounts/Emails.ts"
import type { Invitations } from "../services/accounts/Invitations.ts"
import type { Members } from "../services/accounts/Members.ts"
import type { Operators } from "../services/accounts/Operators.ts"
import type { People } from "../services/accounts/People.ts"
import type { BillingBooks } from "../services/billing/BillingBooks.ts"
import type { PaymentProvider } from "../services/billing/PaymentProvider.ts"
import type { Reconciler } from "../services/billing/Reconciler.ts"
import type { QueryLog } from "../services/charging/QueryLog.ts"
import type { Holds } from "../services/credits/Holds.ts"
import type { Ledger } from "../services/credits/Ledger.ts"
import type { DocumentIndex } from "../services/index/DocumentIndex.ts"
import type { ExternalIndexes } from "../services/index/ExternalIndexes.ts"
import type { KeyStore } from "../services/keys/KeyStore.ts"
import type { Audit } from "../services/operations/Audit.ts"
import type { Backups } from "../services/operations/Backups.ts"
import type { LogRetention } from "../services/operations/LogRetention.ts"
import type { OperatorLog } from "../services/operations/OperatorLog.ts"
import type { Overview } from "../services/operations/Overview.ts"
import type { Replicas } from "../services/operations/Replicas.ts"
import type { SecretRotation } from "../services/operations/SecretRotation.ts"
import type { PageFetcher } from "../services/pages/PageFetcher.ts"
import type { PageParser } from "../services/pages/PageParser.ts"
import type { Limits } from "../services/providers/Limits.ts"
import type { ProviderPauses } from "../services/providers/ProviderPauses.ts"
import type { ProviderStates } from "../services/providers/ProviderStates.ts"
import type { ProviderTrials } from "../services/providers/ProviderTrials.ts"
import type { StoreClock } from "../services/StoreClock.ts"
import type { EventBooks } from "../services/webhooks/EventBooks.ts"
import type { AppConfig } from "../settings/Settings.ts"
import type { ExportAccount } from "./accounts/look.ts"

type ReadingServices =
  | Accounts
  | Activity
  | AppConfig
  | Audit
  | BillingBooks
  | DocumentIndex
  | EventBooks
  | KeyStore
  | Ledger
  | LogRetention
  | Operators
  | ProviderPauses
  | QueryLog
  | Replicas
  | StoreClock

type StorageServices = ReadingServices | AccountRemoval | Members | People

/** Each layer is built only for a command that needs it, and only after the command's flags are valid. */
export interface CommandLayers<E, R> {
  readonly settings: Layer.Layer<AppConfig, E, R>
  /** Works with any schema version. */
  readonly database: Layer.Layer<SqlClient.SqlClient, E, R>
  readonly backups: Layer.Layer<Backups, E, R>
  readonly providers: Layer.Layer<Limits | ProviderStates, E, R>
  /** Reads no other provider than the one that is tried. */
  readonly trials: Layer.Layer<ProviderTrials, E, R>
  /** Read-only. Requires this version's schema. */
  readonly inspection: Layer.Layer<Holds | OperatorLog, E, R>
  readonly overview: Layer.Layer<Overview, E, R>
  /** Also works with secrets that the database does not know, as during a rotation. */
  readonly secrets: Layer.Layer<AppConfig | Audit | SecretRotation, E, R>
  readonly storage: Layer.Layer<StorageServices, E, R>
  readonly mailing: Layer.Layer<StorageServices | Emails | Invitations, E, R>
  readonly external: Layer.Layer<ExternalIndexes, E, R>
  readonly crawling: Layer.Layer<AppConfig | Audit | DocumentIndex | PageFetcher | PageParser, E, R>
  readonly reading: Layer.Layer<ReadingServices, E, R>
  /** Fails if no payment provider is configured. Does not open the database. */
  readonly paymentProvider: Layer.Layer<PaymentProvider, E, R>
  readonly reconciler: Layer.Layer<StorageServices | Reconciler, E, R>
  /** Passed in because the export lives in `http`, which the CLI must not import. */
  readonly exportAccount: ExportAccount
}
