import { AsyncLocalStorage } from "node:async_hooks"
import { isAPIError } from "better-auth/api"
import { Cause, type Context, Effect, Exit } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler
} from "kysely"
import { CurrentRequester } from "../../../domain/requests/CurrentRequester.ts"
import { setRequester } from "../../sql/Requester.ts"

interface RequestContext {
  readonly context: Context.Context<never>
  /** Server-side failures. The library hides some: it responds 200 to a sign-out when the database failed. */
  readonly faults: Array<unknown>
}

/** Inside `transaction`, the library's effects and hooks share one connection, which knows the requester (R68). */
export interface Bridge {
  readonly run: <A, E>(effect: Effect.Effect<A, E>) => Promise<A>
  readonly transaction: <A>(body: () => Promise<A>) => Promise<A>
  /** Dies with the first server-side failure, even if the promise is fulfilled. */
  readonly serve: <A>(body: () => Promise<A>) => Effect.Effect<A>
  readonly database: Kysely<unknown>
}

const isFault = (cause: Cause.Cause<unknown>): boolean => {
  const error = Cause.squash(cause)
  return SqlError.isSqlError(error) ? error.reason._tag !== "UniqueViolation" : Cause.hasDies(cause)
}

export const makeBridge: Effect.Effect<Bridge, never, SqlClient.SqlClient> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const base = yield* Effect.context<never>()
  const current = new AsyncLocalStorage<RequestContext>()

  const run: Bridge["run"] = async (effect) => {
    const store = current.getStore()
    const exit = await Effect.runPromiseExitWith(store?.context ?? base)(effect)
    if (Exit.isSuccess(exit)) return exit.value
    const error = Cause.squash(exit.cause)
    if (isFault(exit.cause)) store?.faults.push(error)
    throw error
  }

  const transaction: Bridge["transaction"] = (body) => {
    const faults = current.getStore()?.faults ?? []
    // The body runs on a socket event. The snapshot restores the library's AsyncLocalStorage with the current request.
    const withCallerStores = AsyncLocalStorage.snapshot()
    return run(
      sql.withTransaction(
        Effect.gen(function* () {
          yield* setRequester(sql, (yield* CurrentRequester) ?? {})
          const context = yield* Effect.context<never>()
          return yield* Effect.tryPromise({
            try: () => withCallerStores(() => current.run({ context, faults }, body)),
            catch: (error) => error
          })
        })
      )
    )
  }

  const serve: Bridge["serve"] = Effect.fnUntraced(function* (body) {
    const store: RequestContext = { context: yield* Effect.context<never>(), faults: [] }
    const value = yield* Effect.promise(() => current.run(store, body))
    return store.faults.length > 0 ? yield* Effect.die(store.faults[0]) : value
  })

  const database = kyselyOver((text, parameters) => run(sql.unsafe<object>(text, parameters)))

  return { run, transaction, serve, database }
})

/**
 * Also commits on client errors: the library deletes the tokens of a stolen code before it throws. Without the
 * transaction, a token issued while its person signs out everywhere would stay valid.
 */
export const commitErrors = async (bridge: Bridge, body: () => Promise<unknown>): Promise<unknown> => {
  const outcome = await bridge.transaction(async () => {
    try {
      return { value: await body() }
    } catch (error) {
      if (isAPIError(error)) return { error }
      throw error
    }
  })
  if ("error" in outcome) throw outcome.error
  return outcome.value
}

type Execute = (text: string, parameters: ReadonlyArray<unknown>) => Promise<ReadonlyArray<object>>

const toCountable = ({ query, sql }: CompiledQuery): string =>
  (query.kind === "UpdateQueryNode" || query.kind === "DeleteQueryNode") && query.returning === undefined
    ? `${sql} returning 1 as changed`
    : sql

/** Kysely only builds statements. The SQL client owns the connections and transactions. */
const kyselyOver = (execute: Execute): Kysely<unknown> => {
  const connection: DatabaseConnection = {
    executeQuery: async <Row>(compiled: CompiledQuery) => {
      const rows = await execute(toCountable(compiled), compiled.parameters)
      // Kysely trusts every driver to return rows of the query's type.
      return { rows: rows as Array<Row>, numAffectedRows: BigInt(rows.length) }
    },
    streamQuery: unsupported
  }
  const driver: Driver = {
    init: doNothing,
    acquireConnection: async () => connection,
    releaseConnection: doNothing,
    destroy: doNothing,
    beginTransaction: unsupported,
    commitTransaction: unsupported,
    rollbackTransaction: unsupported
  }
  return new Kysely({
    dialect: {
      createDriver: () => driver,
      createQueryCompiler: () => new PostgresQueryCompiler(),
      createAdapter: () => new PostgresAdapter(),
      createIntrospector: (database) => new PostgresIntrospector(database)
    }
  })
}

const doNothing = async (): Promise<void> => {}

const unsupported = (): never => {
  throw new Error("transactions go through the bridge")
}
