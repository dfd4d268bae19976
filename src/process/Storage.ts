import { Effect, Layer } from "effect"
import * as Ids from "../layers/Ids.ts"
import * as AccountsSql from "../layers/sql/AccountsSql.ts"
import * as AuditSql from "../layers/sql/AuditSql.ts"
import * as BillingBooksSql from "../layers/sql/BillingBooksSql.ts"
import * as DatabaseClock from "../layers/sql/DatabaseClock.ts"
import * as DocumentIndexSql from "../layers/sql/DocumentIndexSql.ts"
import * as EventBooksSql from "../layers/sql/EventBooksSql.ts"
import * as KeyringsSql from "../layers/sql/KeyringsSql.ts"
import * as KeyStoreSql from "../layers/sql/KeyStoreSql.ts"
import * as LedgerSql from "../layers/sql/LedgerSql.ts"
import * as Migrations from "../layers/sql/Migrations.ts"
import * as Postgres from "../layers/sql/Postgres.ts"
import * as QueryLogSql from "../layers/sql/QueryLogSql.ts"
import * as SecretRotationSql from "../layers/sql/SecretRotationSql.ts"
import { Keyrings } from "../services/Keyrings.ts"
import { AppConfig } from "../settings/Settings.ts"
import { Secrets } from "./Secrets.ts"

/**
 * The database that the settings name, as it is: a Postgres server, or the one embedded in this process. The embedded
 * one is opened after the secrets, which find out whether the directory is a store at all.
 */
export const database = Layer.unwrap(
  Effect.gen(function* () {
    const { databasePoolSize, databasePrepare, databaseStatementTimeout, databaseUrl, dataDir } = yield* AppConfig
    if (databaseUrl !== undefined) {
      return Postgres.layer({
        url: databaseUrl,
        poolSize: databasePoolSize,
        statementTimeout: databaseStatementTimeout,
        prepare: databasePrepare
      })
    }
    yield* Secrets
    const Pglite = yield* Effect.promise(() => import("../layers/sql/Pglite.ts"))
    return Pglite.layer({ dataDir: dataDir === "memory:" ? undefined : dataDir })
  })
).pipe(Layer.provideMerge(Secrets.layer))

const given = Effect.map(Secrets, ({ authSecret, keyPepper }) => ({ AUTH_SECRET: authSecret, KEY_PEPPER: keyPepper }))

const keyrings = (options: { readonly reports: boolean }) =>
  Layer.unwrap(Effect.map(given, (secrets) => KeyringsSql.layer(secrets, options)))

const keyStore = Layer.unwrap(Effect.map(Keyrings, ({ KEY_PEPPER }) => KeyStoreSql.layer({ pepper: KEY_PEPPER })))

const eventBooks = Layer.unwrap(
  Effect.map(Keyrings, ({ AUTH_SECRET }) => EventBooksSql.layer({ keyring: AUTH_SECRET }))
)

/** The rotation of the secrets with its audit, which works with secrets that the database does not know. */
export const secretRotation = Layer.unwrap(Effect.map(given, SecretRotationSql.layer)).pipe(
  Layer.merge(AuditSql.layer),
  Layer.provide(Migrations.layer),
  Layer.provide(database)
)

const queryLog = Layer.unwrap(
  Effect.map(AppConfig, ({ queryLogRetention }) => QueryLogSql.layer({ retention: queryLogRetention }))
)

const stores = (options: { readonly reports: boolean }) =>
  Layer.mergeAll(
    AccountsSql.layer,
    AuditSql.layer,
    BillingBooksSql.layer,
    eventBooks,
    keyStore,
    LedgerSql.layer(),
    DocumentIndexSql.layer,
    queryLog
  ).pipe(
    Layer.provideMerge(keyrings(options)),
    // Everything that stands on the stores has the database's clock too: sign-in, and the usage of an account.
    Layer.provideMerge(DatabaseClock.layer()),
    Layer.provideMerge(Migrations.layer),
    Layer.provide(database),
    Layer.provide(Ids.layer)
  )

/** All stores of the server, on the database with the present schema. */
export const layer = stores({ reports: true })

/** The stores of a command, which is no replica: a rotation does not wait for it. */
export const commandLayer = stores({ reports: false })
