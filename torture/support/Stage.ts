import { Effect, type Redacted } from "effect"
import { freshDatabase } from "../../test/support/stores/Database.ts"
import * as Client from "./Client.ts"
import * as Engine from "./Engine.ts"
import * as Replica from "./Replica.ts"
import * as Store from "./Store.ts"

/** A database, an engine and replicas that use them, for the lifetime of the scope. */
export const make = Effect.fnUntraced(function* (options: {
  readonly replicas: number
  readonly database?: Redacted.Redacted
  /** The database's address for the replicas, if it differs. */
  readonly way?: Redacted.Redacted
  readonly env?: Record<string, string>
}) {
  const database = options.database ?? (yield* freshDatabase).url
  const store = yield* Store.open(database)
  const engine = yield* Engine.start
  const how: Replica.ReplicaOptions = {
    database: options.way ?? database,
    engine,
    ...(options.env === undefined ? {} : { env: options.env })
  }
  const replicas = yield* Effect.all(
    Array.from({ length: options.replicas }, () => Replica.start(how)),
    { concurrency: "unbounded" }
  )
  const client = yield* Client.make
  return { store, engine, replicas, client, how }
})
