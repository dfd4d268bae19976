import { AsyncLocalStorage } from "node:async_hooks"
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

/** What a request's promises run their effects with. */
interface Current {
  readonly context: Context.Context<never>
  /** Faults on our side. The library swallows some, and answers a sign-out that ended nothing as if it had. */
  readonly faults: Array<unknown>
}

/**
 * The way from a library of promises to effects and back: what it runs inside `serve` has the request's context, and
 * inside `transaction` the transaction's connection, also where effects of ours run in the middle of it.
 */
export interface Bridge {
  readonly run: <A, E>(effect: Effect.Effect<A, E>) => Promise<A>
  readonly transaction: <A>(body: () => Promise<A>) => Promise<A>
  /** Dies of the first fault on our side, whatever the promise came to. */
  readonly serve: <A>(body: () => Promise<A>) => Effect.Effect<A>
  readonly database: Kysely<unknown>
}

/** A row that is there already is an answer, which the library goes on from; other database errors and defects are not. */
const isFault = (cause: Cause.Cause<unknown>): boolean => {
  const error = Cause.squash(cause)
  return SqlError.isSqlError(error) ? error.reason._tag !== "UniqueViolation" : Cause.hasDies(cause)
}

export const makeBridge: Effect.Effect<Bridge, never, SqlClient.SqlClient> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const base = yield* Effect.context<never>()
  const current = new AsyncLocalStorage<Current>()

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
    // The library keeps the request it works on where the promise began; the transaction begins on a socket's event.
    const here = AsyncLocalStorage.snapshot()
    return run(
      sql.withTransaction(
        Effect.flatMap(Effect.context<never>(), (context) =>
          Effect.tryPromise({
            try: () => here(() => current.run({ context, faults }, body)),
            catch: (error) => error
          })
        )
      )
    )
  }

  const serve: Bridge["serve"] = Effect.fnUntraced(function* (body) {
    const store: Current = { context: yield* Effect.context<never>(), faults: [] }
    const value = yield* Effect.promise(() => current.run(store, body))
    return store.faults.length > 0 ? yield* Effect.die(store.faults[0]) : value
  })

  const database = kyselyOver((text, parameters) => run(sql.unsafe<object>(text, parameters)))

  return { run, transaction, serve, database }
})

type Execute = (text: string, parameters: ReadonlyArray<unknown>) => Promise<ReadonlyArray<object>>

/** A statement whose result has a row for each that it touches, which is how they are counted. */
const counting = ({ query, sql }: CompiledQuery): string =>
  (query.kind === "UpdateQueryNode" || query.kind === "DeleteQueryNode") && query.returning === undefined
    ? `${sql} returning 1 as touched`
    : sql

/** Kysely for building statements. Connections and transactions are the SQL client's. */
const kyselyOver = (execute: Execute): Kysely<unknown> => {
  const connection: DatabaseConnection = {
    executeQuery: async <Row>(compiled: CompiledQuery) => {
      const rows = await execute(counting(compiled), compiled.parameters)
      // What a query's rows are, its builder knows: Kysely takes it on trust from every driver.
      return { rows: rows as Array<Row>, numAffectedRows: BigInt(rows.length) }
    },
    streamQuery: unsupported
  }
  const driver: Driver = {
    init: nothing,
    acquireConnection: async () => connection,
    releaseConnection: nothing,
    destroy: nothing,
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

const nothing = async (): Promise<void> => {}

const unsupported = (): never => {
  throw new Error("transactions go through the bridge")
}
