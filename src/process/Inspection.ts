import { Effect, Layer } from "effect"
import { formatAddress } from "../domain/net/address.ts"
import { version } from "../domain/version.ts"
import * as OverviewRemote from "../layers/OverviewRemote.ts"
import * as HoldsSql from "../layers/sql/credits/HoldsSql.ts"
import * as DocumentIndexSql from "../layers/sql/index/DocumentIndexSql.ts"
import * as Migrations from "../layers/sql/Migrations.ts"
import * as DatabaseInspectionSql from "../layers/sql/operations/DatabaseInspectionSql.ts"
import * as OperatorLogSql from "../layers/sql/operations/OperatorLogSql.ts"
import * as ReplicasSql from "../layers/sql/operations/ReplicasSql.ts"
import type { StorageUnavailable } from "../layers/sql/store/DirectoryLock.ts"
import { Overview } from "../services/operations/Overview.ts"
import { RedisInspection } from "../services/operations/RedisInspection.ts"
import { AppConfig } from "../settings/Settings.ts"
import * as Storage from "./store/Storage.ts"

// Layers that read a deployment must not migrate the database under running replicas.

const redis = Layer.unwrap(
  Effect.gen(function* () {
    const { redisUrl } = yield* AppConfig
    if (redisUrl === undefined) return RedisInspection.layerOff
    const RedisInspectionProbe = yield* Effect.promise(() => import("../layers/redis/RedisInspectionProbe.ts"))
    return RedisInspectionProbe.layer({ url: redisUrl })
  })
)

const inspection = AppConfig.layerFrom(({ databaseUrl }) =>
  DatabaseInspectionSql.layer(databaseUrl === undefined ? "embedded" : "postgres")
)

/** Accepts a newer schema, so that commands work during a rollout and after a rollback. */
const knownSchema = Layer.effectDiscard(Migrations.requireSchema({ takesNewer: true }))

export const layer = Layer.mergeAll(HoldsSql.layer, OperatorLogSql.layer).pipe(
  Layer.provide(knownSchema),
  Layer.provide(Storage.readOnlyDatabase)
)

const look = Overview.layer(version).pipe(
  Layer.provide([inspection, redis, ReplicasSql.layer, HoldsSql.layer, DocumentIndexSql.layer])
)

export const overview = Layer.provide(look, Storage.database)

const ownOverview = Layer.provide(look, Storage.commandDatabase)

/** If a server has the embedded database open, the command asks that server. */
export const commandOverview = Layer.catchTag(ownOverview, "StorageUnavailable", (unavailable: StorageUnavailable) =>
  AppConfig.layerFrom(({ adminHost, adminPort }) =>
    adminPort === 0
      ? Layer.effect(Overview, Effect.fail(unavailable))
      : Layer.catch(OverviewRemote.layer(`http://${formatAddress({ host: adminHost, port: adminPort })}`), () =>
          Layer.effect(Overview, Effect.fail(unavailable))
        )
  )
)
