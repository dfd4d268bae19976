import { Effect, Layer } from "effect"
import * as IdsLayer from "../../layers/Ids.ts"
import * as AccountsSql from "../../layers/sql/accounts/AccountsSql.ts"
import * as ActivitySql from "../../layers/sql/accounts/ActivitySql.ts"
import * as OperatorsSql from "../../layers/sql/accounts/OperatorsSql.ts"
import * as BillingBooksSql from "../../layers/sql/billing/BillingBooksSql.ts"
import * as LedgerSql from "../../layers/sql/credits/LedgerSql.ts"
import * as PlanBooksSql from "../../layers/sql/credits/PlanBooksSql.ts"
import * as DocumentIndexSql from "../../layers/sql/index/DocumentIndexSql.ts"
import * as KeyStoreSql from "../../layers/sql/keys/KeyStoreSql.ts"
import * as Migrations from "../../layers/sql/Migrations.ts"
import * as AuditSql from "../../layers/sql/operations/AuditSql.ts"
import * as KeyringsSql from "../../layers/sql/operations/KeyringsSql.ts"
import * as LogMaintenance from "../../layers/sql/operations/LogMaintenance.ts"
import * as LogRetentionSql from "../../layers/sql/operations/LogRetentionSql.ts"
import * as ProviderPausesSql from "../../layers/sql/operations/ProviderPausesSql.ts"
import * as ReplicasSql from "../../layers/sql/operations/ReplicasSql.ts"
import * as SecretRotationSql from "../../layers/sql/operations/SecretRotationSql.ts"
import * as QueryLogSql from "../../layers/sql/search/QueryLogSql.ts"
import * as DatabaseChecks from "../../layers/sql/store/DatabaseChecks.ts"
import * as DatabaseClock from "../../layers/sql/store/DatabaseClock.ts"
import { isMade, StorageUnavailable } from "../../layers/sql/store/DirectoryLock.ts"
import * as Postgres from "../../layers/sql/store/Postgres.ts"
import { isStarterCurrent } from "../../layers/sql/store/templates.ts"
import * as EventBooksSql from "../../layers/sql/webhooks/EventBooksSql.ts"
import { ActsOnItsOwn } from "../../services/background.ts"
import { Ids } from "../../services/Ids.ts"
import { Keyrings } from "../../services/operations/Keyrings.ts"
import { ReplicaId } from "../../services/operations/Replicas.ts"
import { AppConfig } from "../../settings/Settings.ts"
import * as Plans from "../Plans.ts"
import { Secrets } from "../secrets/Secrets.ts"

/** Opens the embedded database after the secrets, which check whether the directory is a store at all. */
const databaseWith = (options: { readonly readOnly: boolean }) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const { databasePoolSize, databasePrepare, databaseStatementTimeout, databaseUrl, dataDir, embeddedSync } =
        yield* AppConfig
      if (databaseUrl !== undefined) {
        const server = {
          url: databaseUrl,
          poolSize: databasePoolSize,
          statementTimeout: databaseStatementTimeout,
          prepare: databasePrepare,
          ...options
        }
        yield* DatabaseChecks.run(server)
        return Postgres.layer(server)
      }
      yield* Secrets
      const Pglite = yield* Effect.promise(() => import("../../layers/sql/store/Pglite.ts"))
      return Pglite.layer({
        dataDir: dataDir === "memory:" ? undefined : dataDir,
        sync: embeddedSync === "on",
        ...(dataDir === "memory:" && isStarterCurrent() ? { template: "starter" } : {}),
        ...options
      })
    })
  ).pipe(Layer.provideMerge(Secrets.layer))

export const database = databaseWith({ readOnly: false })

/** Only `migrate` creates a missing embedded store. */
const madeStore = Layer.effectDiscard(
  Effect.gen(function* () {
    const { databaseUrl, dataDir } = yield* AppConfig
    if (databaseUrl !== undefined || dataDir === "memory:" || isMade(dataDir)) return
    return yield* new StorageUnavailable({
      message: `DATA_DIR ${dataDir} has no store yet: start the server, or run \`npm run quarry -- migrate\`.`
    })
  })
)

export const commandDatabase = Layer.provide(database, madeStore)

export const readOnlyDatabase = Layer.provide(databaseWith({ readOnly: true }), madeStore)

const given = Effect.map(Secrets, ({ authSecret, keyPepper }) => ({ AUTH_SECRET: authSecret, KEY_PEPPER: keyPepper }))

const keyrings = (options: { readonly reports: boolean; readonly writes: boolean }) =>
  Layer.unwrap(Effect.map(given, (secrets) => KeyringsSql.layer(secrets, options)))

const keyStore = Layer.unwrap(Effect.map(Keyrings, ({ KEY_PEPPER }) => KeyStoreSql.layer({ pepper: KEY_PEPPER })))

const eventBooks = Layer.unwrap(
  Effect.map(Keyrings, ({ AUTH_SECRET }) => EventBooksSql.layer({ keyring: AUTH_SECRET }))
)

/** Requires exactly this version's schema (R74). */
const presentSchema = Layer.effectDiscard(Migrations.requireSchema({ takesNewer: false }))

export const secretRotation = Layer.unwrap(Effect.map(given, SecretRotationSql.layer)).pipe(
  Layer.merge(AuditSql.layer),
  Layer.provide(presentSchema),
  Layer.provide(commandDatabase)
)

const stores = (options: { readonly reports: boolean; readonly writes: boolean }) =>
  Layer.mergeAll(
    AccountsSql.layer,
    ActivitySql.layer,
    AuditSql.layer,
    BillingBooksSql.layer,
    eventBooks,
    keyStore,
    LedgerSql.layer({ hasUpkeep: options.reports }),
    PlanBooksSql.layer,
    DocumentIndexSql.layer,
    QueryLogSql.layer,
    LogRetentionSql.layer,
    OperatorsSql.layer,
    ProviderPausesSql.layer,
    ReplicasSql.layer
  ).pipe(
    Layer.provideMerge(keyrings(options)),
    // Sign-in and usage need the database's clock too.
    Layer.provideMerge(DatabaseClock.layer()),
    Layer.provide([IdsLayer.layer, Plans.layer])
  )

export const replicaId = Layer.effect(
  ReplicaId,
  Effect.flatMap(Ids, ({ make }) => make("rep_"))
).pipe(Layer.provide(IdsLayer.layer))

/** Every layer that acts on its own gets this setting here, so that none is built without it. */
export const background = AppConfig.serviceFrom(ActsOnItsOwn, ({ quarryBackground }) => quarryBackground === "on")

export const layer = stores({ reports: true, writes: true }).pipe(
  Layer.provideMerge(Migrations.layer),
  Layer.provide(database),
  Layer.provide([replicaId, background])
)

const notActing = Layer.succeed(ActsOnItsOwn, false)

/** A command is not a replica: a rotation does not wait for it, and it leaves upkeep to the server. */
export const commandLayer = stores({ reports: false, writes: true }).pipe(
  Layer.provide(presentSchema),
  Layer.provide(commandDatabase),
  Layer.provide(notActing)
)

export const readingLayer = stores({ reports: false, writes: false }).pipe(
  Layer.provide(presentSchema),
  Layer.provide(readOnlyDatabase),
  Layer.provide(notActing)
)

export const logMaintenance = AppConfig.layerFrom(({ queryLogRetention }) =>
  LogMaintenance.layer({ retention: queryLogRetention })
).pipe(Layer.provide(Migrations.layer), Layer.provide(database), Layer.provide(background))
