import { Effect, Layer } from "effect"
import { version } from "../domain/version.ts"
import * as OverviewRemote from "../layers/OverviewRemote.ts"
import * as DatabaseInspectionSql from "../layers/sql/DatabaseInspectionSql.ts"
import type { StorageUnavailable } from "../layers/sql/DirectoryLock.ts"
import * as HoldsSql from "../layers/sql/HoldsSql.ts"
import * as Migrations from "../layers/sql/Migrations.ts"
import * as OperatorLogSql from "../layers/sql/OperatorLogSql.ts"
import * as ReplicasSql from "../layers/sql/ReplicasSql.ts"
import { Overview } from "../services/Overview.ts"
import { RedisInspection } from "../services/RedisInspection.ts"
import { AppConfig } from "../settings/Settings.ts"
import * as Storage from "./Storage.ts"

/*
 * The layers through which an operator looks at a deployment. They take the database as it is: a look must not migrate
 * it under the replicas that run.
 */

const redis = Layer.unwrap(
  Effect.gen(function* () {
    const { redisUrl } = yield* AppConfig
    if (redisUrl === undefined) return RedisInspection.layerOff
    const RedisInspectionProbe = yield* Effect.promise(() => import("../layers/redis/RedisInspectionProbe.ts"))
    return RedisInspectionProbe.layer({ url: redisUrl })
  })
)

const inspection = Layer.unwrap(
  Effect.map(AppConfig, ({ databaseUrl }) =>
    DatabaseInspectionSql.layer(databaseUrl === undefined ? "embedded" : "postgres")
  )
)

/** A newer schema is taken too, so that an operator can look during a roll-out and after a roll-back. */
const knownSchema = Layer.effectDiscard(Migrations.requireSchema({ takesNewer: true }))

/** Services that read the database for a command. They do not migrate it, unlike `Storage.layer`. */
export const layer = Layer.mergeAll(HoldsSql.layer, OperatorLogSql.layer).pipe(
  Layer.provide(knownSchema),
  Layer.provide(Storage.readOnlyDatabase)
)

const look = Overview.layer(version).pipe(Layer.provide([inspection, redis, ReplicasSql.layer, HoldsSql.layer]))

/** The overview from the server's own database. */
export const overview = Layer.provide(look, Storage.database)

/** The private listener as a process on this machine reaches it. */
const adminOrigin = (host: string, port: number): string => `http://${host.includes(":") ? `[${host}]` : host}:${port}`

const ownOverview = Layer.provide(look, Storage.commandDatabase)

/** The same for a command. While a server has the embedded database open, that server is asked. */
export const commandOverview = Layer.catchTag(ownOverview, "StorageUnavailable", (unavailable: StorageUnavailable) =>
  Layer.unwrap(
    Effect.map(AppConfig, ({ adminHost, adminPort }) =>
      adminPort === 0
        ? Layer.effect(Overview, Effect.fail(unavailable))
        : Layer.catch(OverviewRemote.layer(adminOrigin(adminHost, adminPort)), () =>
            Layer.effect(Overview, Effect.fail(unavailable))
          )
    )
  )
)
