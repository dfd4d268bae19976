import { type Cause, Console, Effect, type Layer, Ref } from "effect"
import { CliConfig, CliOutput, Command, GlobalFlag } from "effect/cli"
import type { SqlClient } from "effect/sql"
import * as errors from "../domain/errors.ts"
import { version } from "../domain/version.ts"
import type { AccountRemoval } from "../services/accounts/AccountRemoval.ts"
import type { Accounts } from "../services/accounts/Accounts.ts"
import type { People } from "../services/accounts/People.ts"
import type { BillingBooks } from "../services/billing/BillingBooks.ts"
import type { PaymentProvider } from "../services/billing/PaymentProvider.ts"
import type { Reconciler } from "../services/billing/Reconciler.ts"
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
import type { ProviderStates } from "../services/providers/ProviderStates.ts"
import type { QueryLog } from "../services/search/QueryLog.ts"
import type { EventBooks } from "../services/webhooks/EventBooks.ts"
import type { AppConfig } from "../settings/Settings.ts"
import { account } from "./accounts/account.ts"
import type { ExportAccount } from "./accounts/look.ts"
import { sessions } from "./accounts/sessions.ts"
import { billing } from "./billing/billing.ts"
import { holds } from "./credits/holds.ts"
import { ledger } from "./credits/ledger.ts"
import { usage } from "./credits/usage.ts"
import { writesMore, writesNothing } from "./effects.ts"
import { failureOf } from "./exit.ts"
import { documents } from "./index/documents.ts"
import { key } from "./keys/key.ts"
import { Json, NotFound, Printed, presenter } from "./Output.ts"
import { audit } from "./operations/audit.ts"
import { backup, restore } from "./operations/backup.ts"
import { config } from "./operations/config.ts"
import { migrate } from "./operations/migrate.ts"
import { By } from "./operations/operator.ts"
import { replica } from "./operations/replica.ts"
import { retention } from "./operations/retention.ts"
import { secrets as secretsCommand } from "./operations/secrets.ts"
import { status } from "./operations/status.ts"
import { providers as providersCommand } from "./providers/providers.ts"
import { batch } from "./search/batch.ts"
import { query } from "./search/query.ts"
import { request } from "./search/request.ts"
import { webhooks } from "./webhooks/webhooks.ts"

type ReadingServices =
  | Accounts
  | AppConfig
  | Audit
  | BillingBooks
  | DocumentIndex
  | EventBooks
  | KeyStore
  | Ledger
  | LogRetention
  | QueryLog
  | Replicas

export type StorageServices = ReadingServices | AccountRemoval | People

/** Each layer is built only for a command that needs it, and only after the command's flags are valid. */
export interface CommandLayers<E, R> {
  readonly settings: Layer.Layer<AppConfig, E, R>
  /** Works with any schema version. */
  readonly database: Layer.Layer<SqlClient.SqlClient, E, R>
  readonly backups: Layer.Layer<Backups, E, R>
  readonly providers: Layer.Layer<AppConfig | ProviderStates, E, R>
  /** Read-only. Requires this version's schema. */
  readonly inspection: Layer.Layer<Holds | OperatorLog, E, R>
  readonly overview: Layer.Layer<Overview, E, R>
  /** Also works with secrets that the database does not know, as during a rotation. */
  readonly secrets: Layer.Layer<AppConfig | Audit | SecretRotation, E, R>
  readonly storage: Layer.Layer<StorageServices, E, R>
  readonly external: Layer.Layer<ExternalIndexes, E, R>
  readonly crawling: Layer.Layer<AppConfig | Audit | DocumentIndex | PageFetcher | PageParser, E, R>
  readonly reading: Layer.Layer<ReadingServices, E, R>
  /** Fails if no payment provider is configured. Does not open the database. */
  readonly paymentProvider: Layer.Layer<PaymentProvider, E, R>
  readonly reconciler: Layer.Layer<StorageServices | Reconciler, E, R>
  /** Passed in because the export lives in `http`, which the CLI must not import. */
  readonly exportAccount: ExportAccount
}

const printFailure = Effect.fnUntraced(function* (cause: Cause.Cause<unknown>) {
  const failure = failureOf(cause)
  if (failure === undefined || (yield* Ref.get(yield* Printed))) return
  yield* Console.log(JSON.stringify(failure))
})

export const commands = <E, R>(layers: CommandLayers<E, R>) => {
  const { backups, database, inspection, overview, providers, reading, secrets, settings, storage } = layers
  return Command.make("quarry").pipe(
    Command.withDescription("Operate Quarry, a web search API"),
    Command.withSubcommands([
      status(overview),
      account(layers),
      key(layers),
      sessions(storage),
      audit(reading),
      documents(layers),
      ledger(storage),
      billing(layers),
      webhooks(layers),
      replica(storage),
      holds(inspection),
      query(inspection),
      batch(inspection),
      request(inspection),
      usage(inspection),
      secretsCommand(secrets),
      providersCommand(providers),
      retention(layers),
      backup(backups),
      restore(backups),
      migrate.pipe(writesMore, Command.provide(database)),
      config.pipe(writesNothing, Command.provide(settings))
    ]),
    Command.withGlobalFlags([Json, By])
  )
}

export const make = <E, R>(layers: CommandLayers<E, R>) => {
  const run = Command.runWith(commands(layers), { version })
  return (args: ReadonlyArray<string>) =>
    run(args).pipe(
      Effect.mapError((error) => (error instanceof errors.NotFound ? new NotFound({ message: error.message }) : error)),
      // Reads the raw arguments, because a command line that does not parse has no flags.
      Effect.tapCause((cause) => (args.includes("--json") ? printFailure(cause) : Effect.void)),
      Effect.provideServiceEffect(Printed, Ref.make(false)),
      Effect.provide(CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version] })),
      Effect.provide(CliOutput.layerPresenter(presenter))
    )
}
