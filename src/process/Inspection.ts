import { Effect, Layer } from "effect"
import { version } from "../domain/version.ts"
import * as OverviewRemote from "../layers/OverviewRemote.ts"
import * as DatabaseInspectionSql from "../layers/sql/DatabaseInspectionSql.ts"
import { StorageUnavailable } from "../layers/sql/DirectoryLock.ts"
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

const presentSchema = Layer.effectDiscard(
  Effect.gen(function* () {
    const { pending } = yield* Migrations.state
    if (pending.length === 0) return
    return yield* new StorageUnavailable({
      message:
        `The database lacks migrations of this version (${pending.join(", ")}). ` +
        "Run `migrate`, or this command in the version of the replicas that run."
    })
  })
)

/** Services that read the database for a command. They do not migrate it, unlike `Storage.layer`. */
export const layer = Layer.mergeAll(HoldsSql.layer, OperatorLogSql.layer).pipe(
  Layer.provide(presentSchema),
  Layer.provide(Storage.database)
)

/** The overview from the database of the settings. */
export const overview = Overview.layer(version).pipe(
  Layer.provide([inspection, redis, ReplicasSql.layer, HoldsSql.layer]),
  Layer.provide(Storage.database)
)

/** The private listener as a process on this machine reaches it. */
const adminOrigin = (host: string, port: number): string => `http://${host.includes(":") ? `[${host}]` : host}:${port}`

/** The same for a command. While a server has the embedded database open, that server is asked. */
export const commandOverview = Layer.catchTag(overview, "StorageUnavailable", (unavailable: StorageUnavailable) =>
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
