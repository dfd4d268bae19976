import { connect } from "node:net"
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"

/** A server on which the tests may make databases of their own. */
const serverUrl = process.env.QUARRY_TEST_POSTGRES ?? "postgres://root@127.0.0.1:5432/postgres"

const listens = (url: URL): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host: url.hostname, port: Number(url.port || 5432) })
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false))
    socket.once("close", () => resolve(false)).once("connect", () => socket.destroy())
  })

/** Why the tests that need the server are skipped; undefined when they run. */
export const postgresMissing: string | undefined =
  process.env.QUARRY_REQUIRE_SERVICES === "1" || (await listens(new URL(serverUrl)))
    ? undefined
    : "skipped: no Postgres; set QUARRY_TEST_POSTGRES=postgres://user@host:5432/postgres"

const client = (url: URL) => PgClient.layer({ url: Redacted.make(url.href), maxConnections: 4 })

/** A database that is there for as long as the layer. */
export const layer: Layer.Layer<SqlClient.SqlClient> = Layer.unwrap(
  Effect.gen(function* () {
    const server = yield* SqlClient.SqlClient
    const name = `quarry_test_${crypto.randomUUID().replaceAll("-", "")}`
    yield* Effect.acquireRelease(server.unsafe(`create database ${name}`), () =>
      Effect.orDie(server.unsafe(`drop database ${name} with (force)`))
    )
    return client(new URL(`/${name}`, serverUrl))
  })
).pipe(Layer.provide(client(new URL(serverUrl))), Layer.orDie)
