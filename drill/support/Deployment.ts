import { Effect, Redacted } from "effect"
import { freePort } from "../../test/support/processes/Spawned.ts"
import { type PostgresServer, postgresServerWith } from "../../test/support/servers/PostgresServer.ts"
import { type RedisServer, redisServer } from "../../test/support/servers/RedisServer.ts"
import * as Client from "../../torture/support/Client.ts"
import * as Engine from "../../torture/support/Engine.ts"
import * as Replica from "../../torture/support/Replica.ts"
import * as Store from "../../torture/support/Store.ts"
import * as Front from "./Front.ts"

/** Enough for the pools of three replicas at their usual size. */
export const postgres = postgresServerWith({ max_connections: "60" })

export interface DeploymentOptions {
  readonly database: PostgresServer
  /** The database as the replicas reach it, where something stands between. */
  readonly databaseUrl?: Redacted.Redacted
  readonly redis?: RedisServer
  readonly front?: Front.Front
  readonly env?: Record<string, string>
  /** Of the accounts that search. */
  readonly concurrency?: number
}

export interface DeployedReplica extends Replica.Replica {
  readonly host: string
}

/** Three replicas on one Postgres and one Redis, behind a proxy or each by itself. Everything ends with the scope. */
export const make = Effect.fnUntraced(function* (options: DeploymentOptions) {
  const { database, databaseUrl = database.url, front = "direct" } = options
  const store = yield* Store.open(databaseUrl)
  const engine = yield* Engine.start
  const redis = options.redis ?? (yield* redisServer)
  const ports = { public: yield* freePort, admin: yield* freePort }
  // The proxies' files have the replicas on hosts of their own, with the same ports.
  const startOn = Effect.fnUntraced(function* (host: string, env: Record<string, string> = {}, version?: string) {
    const replica = yield* Replica.start({
      database: databaseUrl,
      engine,
      ...(version === undefined ? {} : { version }),
      env: {
        REDIS_URL: Redacted.value(redis.url()),
        PROVIDER_TIMEOUT: "15 seconds",
        DRAIN_DELAY: "5 seconds",
        ...(front === "direct" ? {} : { TRUSTED_PROXY_HOPS: "1" }),
        ...options.env,
        HOST: host,
        PORT: `${ports.public}`,
        ADMIN_HOST: host,
        ADMIN_PORT: `${ports.admin}`,
        ...env
      }
    })
    return { ...replica, url: `http://${host}:${ports.public}`, host }
  })
  const replicas = yield* Effect.all([startOn("127.0.0.1"), startOn("127.0.0.2"), startOn("127.0.0.3")], {
    concurrency: "unbounded"
  })
  const fronts = yield* Front.start(front, replicas, ports)
  const credits = { quota: 1_000_000, concurrency: options.concurrency ?? 10_000 }
  const customers = yield* Effect.replicateEffect(Store.customer(store, credits), 3)
  return { store, redis, engine, replicas, fronts, customers, client: yield* Client.make, startOn }
})

export type Deployment = Effect.Success<ReturnType<typeof make>>
