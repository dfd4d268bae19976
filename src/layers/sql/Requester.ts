import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { CurrentRequester, type Requester } from "../../domain/requests/CurrentRequester.ts"
import { inTransaction } from "./Transaction.ts"

/** Tells the triggers that record activity who acts, until the transaction ends (R68). */
export const setRequester = (sql: SqlClient.SqlClient, requester: Requester) =>
  sql`select set_config('quarry.requester', ${JSON.stringify(requester)}, true)`

/** For use inside a transaction. */
export const withRequester =
  (sql: SqlClient.SqlClient) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | SqlError.SqlError, R> =>
    Effect.flatMap(CurrentRequester, (requester) =>
      requester === undefined ? effect : Effect.andThen(setRequester(sql, requester), effect)
    )

/** Like `inTransaction`, for changes that an account's activity shows. */
export const inActivity =
  (sql: SqlClient.SqlClient) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    inTransaction(sql)(withRequester(sql)(effect))
