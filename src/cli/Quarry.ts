import { type Cause, Console, Effect, type Layer, Ref } from "effect"
import { CliConfig, CliOutput, Command, GlobalFlag } from "effect/cli"
import type { SqlClient } from "effect/sql"
import * as errors from "../domain/errors.ts"
import { version } from "../domain/version.ts"
import type { AccountRemoval } from "../services/AccountRemoval.ts"
import type { Accounts } from "../services/Accounts.ts"
import type { Audit } from "../services/Audit.ts"
import type { BillingBooks } from "../services/BillingBooks.ts"
import type { DocumentIndex } from "../services/DocumentIndex.ts"
import type { EventBooks } from "../services/EventBooks.ts"
import type { Holds } from "../services/Holds.ts"
import type { KeyStore } from "../services/KeyStore.ts"
import type { Ledger } from "../services/Ledger.ts"
import type { OperatorLog } from "../services/OperatorLog.ts"
import type { Overview } from "../services/Overview.ts"
import type { PaymentProvider } from "../services/PaymentProvider.ts"
import type { People } from "../services/People.ts"
import type { ProviderStates } from "../services/ProviderStates.ts"
import type { QueryLog } from "../services/QueryLog.ts"
import type { Reconciler } from "../services/Reconciler.ts"
import type { SecretRotation } from "../services/SecretRotation.ts"
import type { AppConfig } from "../settings/Settings.ts"
import type { ExportAccount } from "./account/look.ts"
import { account } from "./account.ts"
import { audit } from "./audit.ts"
import { batch } from "./batch.ts"
import { billing } from "./billing.ts"
import { config } from "./config.ts"
import { documents } from "./documents.ts"
import { failureOf } from "./exit.ts"
import { holds } from "./holds.ts"
import { key } from "./key.ts"
import { ledger } from "./ledger.ts"
import { migrate } from "./migrate.ts"
import { Json, NotFound, Printed, presenter } from "./Output.ts"
import { By } from "./operator.ts"
import { providers as providersCommand } from "./providers.ts"
import { query } from "./query.ts"
import { request } from "./request.ts"
import { secrets as secretsCommand } from "./secrets.ts"
import { sessions } from "./sessions.ts"
import { status } from "./status.ts"
import { usage } from "./usage.ts"
import { webhooks } from "./webhooks.ts"

export type StorageServices =
  | AccountRemoval
  | Accounts
  | AppConfig
  | Audit
  | BillingBooks
  | DocumentIndex
  | KeyStore
  | Ledger
  | People
  | EventBooks
  | QueryLog

/** The layers that commands need. Each is opened only for a command that needs it, after its flags are found valid. */
export interface CommandLayers<E, R> {
  readonly settings: Layer.Layer<AppConfig, E, R>
  /** The database as it is, migrated or not. */
  readonly database: Layer.Layer<SqlClient.SqlClient, E, R>
  /** The providers of the settings, which are connected to when they are asked. */
  readonly providers: Layer.Layer<AppConfig | ProviderStates, E, R>
  /** Services that only read the database. It must have the schema of this version. */
  readonly inspection: Layer.Layer<Holds | OperatorLog, E, R>
  /** The look at the whole deployment. It changes nothing. */
  readonly overview: Layer.Layer<Overview, E, R>
  /** The rotation of secrets, also of ones that the database does not know. */
  readonly secrets: Layer.Layer<AppConfig | Audit | SecretRotation, E, R>
  readonly storage: Layer.Layer<StorageServices, E, R>
  /** The payment provider of the settings; it fails where they name none. It opens no database. */
  readonly paymentProvider: Layer.Layer<PaymentProvider, E, R>
  /** The storage with what compares it with the payment provider. */
  readonly reconciler: Layer.Layer<StorageServices | Reconciler, E, R>
  /** The document of an account's export, which only `http` can write: the CLI does not import that room. */
  readonly exportAccount: ExportAccount
}

/** Prints the object of a failure, unless the command has printed its own. */
const printFailure = Effect.fnUntraced(function* (cause: Cause.Cause<unknown>) {
  const failure = failureOf(cause)
  if (failure === undefined || (yield* Ref.get(yield* Printed))) return
  yield* Console.log(JSON.stringify(failure))
})

/** The operator's CLI: runs the command in the arguments. */
export const make = <E, R>(layers: CommandLayers<E, R>) => {
  const { database, exportAccount, inspection, overview, providers, secrets, settings, storage } = layers
  const quarry = Command.make("quarry").pipe(
    Command.withDescription("Operate a Quarry: a web-search API"),
    Command.withSubcommands([
      status(overview),
      account(storage, exportAccount),
      key(storage),
      sessions(storage),
      audit(storage),
      documents(storage),
      ledger(storage),
      billing(layers),
      webhooks(storage),
      holds(inspection),
      query(inspection),
      batch(inspection),
      request(inspection),
      usage(inspection),
      secretsCommand(secrets),
      providersCommand(providers),
      migrate.pipe(Command.provide(database)),
      config.pipe(Command.provide(settings))
    ]),
    Command.withGlobalFlags([Json, By])
  )
  const run = Command.runWith(quarry, { version })
  return (args: ReadonlyArray<string>) =>
    run(args).pipe(
      Effect.mapError((error) => (error instanceof errors.NotFound ? new NotFound({ message: error.message }) : error)),
      // The arguments as they are, because a mistyped command line has no flags.
      Effect.tapCause((cause) => (args.includes("--json") ? printFailure(cause) : Effect.void)),
      Effect.provideServiceEffect(Printed, Ref.make(false)),
      Effect.provide(CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version] })),
      Effect.provide(CliOutput.layerPresenter(presenter))
    )
}
