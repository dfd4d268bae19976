import { Effect, type Layer } from "effect"
import { CliConfig, CliOutput, Command, GlobalFlag } from "effect/cli"
import type { SqlClient } from "effect/sql"
import manifest from "../../package.json" with { type: "json" }
import { NotFound } from "../domain/errors.ts"
import type { Accounts } from "../services/Accounts.ts"
import type { DocumentIndex } from "../services/DocumentIndex.ts"
import type { KeyStore } from "../services/KeyStore.ts"
import type { Ledger } from "../services/Ledger.ts"
import type { ProviderStates } from "../services/ProviderStates.ts"
import type { SecretRotation } from "../services/SecretRotation.ts"
import type { AppConfig } from "../settings/Settings.ts"
import { account } from "./account.ts"
import { config } from "./config.ts"
import { documents } from "./documents.ts"
import { key } from "./key.ts"
import { ledger } from "./ledger.ts"
import { migrate } from "./migrate.ts"
import { CommandFailed, Json, presenter } from "./Output.ts"
import { providers as providersCommand } from "./providers.ts"
import { secrets as secretsCommand } from "./secrets.ts"

/** The layers that commands need. Each is opened only for a command that needs it, after its flags are found valid. */
export interface CommandLayers<E, R> {
  readonly settings: Layer.Layer<AppConfig, E, R>
  /** The database as it is, migrated or not. */
  readonly database: Layer.Layer<SqlClient.SqlClient, E, R>
  /** The providers of the settings, which are connected to when they are asked. */
  readonly providers: Layer.Layer<AppConfig | ProviderStates, E, R>
  /** The rotation of secrets, also of ones that the database does not know. */
  readonly secrets: Layer.Layer<SecretRotation, E, R>
  readonly storage: Layer.Layer<Accounts | DocumentIndex | KeyStore | Ledger, E, R>
}

/** The operator's CLI: runs the command in the arguments. */
export const make = <E, R>({ database, providers, secrets, settings, storage }: CommandLayers<E, R>) => {
  const quarry = Command.make("quarry").pipe(
    Command.withDescription("Operate a Quarry: a web-search API"),
    Command.withSubcommands([
      account(storage),
      key(storage),
      documents(storage),
      ledger(storage),
      secretsCommand(secrets),
      providersCommand(providers),
      migrate.pipe(Command.provide(database)),
      config.pipe(Command.provide(settings))
    ]),
    Command.withGlobalFlags([Json])
  )
  const run = Command.runWith(quarry, { version: manifest.version })
  return (args: ReadonlyArray<string>) =>
    run(args).pipe(
      Effect.mapError((error) => (error instanceof NotFound ? new CommandFailed({ message: error.message }) : error)),
      Effect.provide(CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version] })),
      Effect.provide(CliOutput.layerPresenter(presenter))
    )
}
