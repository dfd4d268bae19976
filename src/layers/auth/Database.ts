import { AsyncLocalStorage } from "node:async_hooks"
import { Cause, type Context, Effect, Exit } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
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
  /** Of the database. The library swallows some, and answers a sign-out that ended nothing as if it had. */
  readonly failures: Array<SqlError.SqlError>
}

/**
 * The way from a library of promises to effects and back: what it runs inside `serve` has the request's context, and
 * inside `transaction` the transaction's connection, also where effects of ours run in the middle of it.
 */
export interface Bridge {
  readonly run: <A, E>(effect: Effect.Effect<A, E>) => Promise<A>
  readonly transaction: <A>(body: () => Promise<A>) => Promise<A>
  /** Dies when the database failed, whatever the promise came to. */
  readonly serve: <A>(body: () => Promise<A>) => Effect.Effect<A>
  readonly database: Kysely<unknown>
}

const valueIn = <A, E>(exit: Exit.Exit<A, E>): A => {
  if (Exit.isSuccess(exit)) return exit.value
  throw Cause.squash(exit.cause)
}

export const makeBridge: Effect.Effect<Bridge, never, SqlClient.SqlClient> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const base = yield* Effect.context<never>()
  const current = new AsyncLocalStorage<Current>()

  const run: Bridge["run"] = async (effect) =>
    valueIn(await Effect.runPromiseExitWith(current.getStore()?.context ?? base)(effect))

  const transaction: Bridge["transaction"] = (body) =>
    run(
      sql.withTransaction(
        Effect.flatMap(Effect.context<never>(), (context) => {
          const failures = current.getStore()?.failures ?? []
          return Effect.tryPromise({ try: () => current.run({ context, failures }, body), catch: (error) => error })
        })
      )
    )

  const serve: Bridge["serve"] = Effect.fnUntraced(function* (body) {
    const store: Current = { context: yield* Effect.context<never>(), failures: [] }
    const value = yield* Effect.promise(() => current.run(store, body))
    return store.failures.length > 0 ? yield* Effect.die(store.failures[0]) : value
  })

  /** A row that is there already is an answer, which the library goes on from. */
  const note = (error: SqlError.SqlError) =>
    Effect.sync(() => {
      if (error.reason._tag !== "UniqueViolation") current.getStore()?.failures.push(error)
    })

  const database = kyselyOver(({ parameters, sql: text }) =>
    // The client's own result on Postgres, which its interface leaves open.
    run(Effect.tapError(sql.unsafe(text, parameters).raw as Effect.Effect<RawResult, SqlError.SqlError>, note))
  )

  return { run, transaction, serve, database }
})

interface RawResult {
  // biome-ignore lint/suspicious/noExplicitAny: Kysely's caller says what the rows of its query are.
  readonly rows: Array<any>
  readonly rowCount: number
}

/** Kysely for building statements. Connections and transactions are the SQL client's. */
const kyselyOver = (execute: (query: CompiledQuery) => Promise<RawResult>): Kysely<unknown> => {
  const connection: DatabaseConnection = {
    executeQuery: async (query) => {
      const { rowCount, rows } = await execute(query)
      return { rows, numAffectedRows: BigInt(rowCount) }
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
