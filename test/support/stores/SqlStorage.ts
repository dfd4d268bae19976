import { Duration, Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import * as Ids from "../../../src/layers/Ids.ts"
import * as AccountsSql from "../../../src/layers/sql/accounts/AccountsSql.ts"
import * as ActivitySql from "../../../src/layers/sql/accounts/ActivitySql.ts"
import * as OperatorsSql from "../../../src/layers/sql/accounts/OperatorsSql.ts"
import * as BillingBooksSql from "../../../src/layers/sql/billing/BillingBooksSql.ts"
import * as HoldsSql from "../../../src/layers/sql/credits/HoldsSql.ts"
import * as LedgerSql from "../../../src/layers/sql/credits/LedgerSql.ts"
import * as PlanBooksSql from "../../../src/layers/sql/credits/PlanBooksSql.ts"
import * as KeyStoreSql from "../../../src/layers/sql/keys/KeyStoreSql.ts"
import * as Migrations from "../../../src/layers/sql/Migrations.ts"
import * as AuditSql from "../../../src/layers/sql/operations/AuditSql.ts"
import * as LogRetentionSql from "../../../src/layers/sql/operations/LogRetentionSql.ts"
import * as OperatorFiguresSql from "../../../src/layers/sql/operations/OperatorFiguresSql.ts"
import * as OperatorLogSql from "../../../src/layers/sql/operations/OperatorLogSql.ts"
import * as ProviderPausesSql from "../../../src/layers/sql/operations/ProviderPausesSql.ts"
import * as ReplicasSql from "../../../src/layers/sql/operations/ReplicasSql.ts"
import { CheckRows } from "../../../src/layers/sql/Rows.ts"
import * as QueryLogSql from "../../../src/layers/sql/search/QueryLogSql.ts"
import * as EventBooksSql from "../../../src/layers/sql/webhooks/EventBooksSql.ts"
import { ActsOnItsOwn } from "../../../src/services/background.ts"
import { singleKeyring } from "../../../src/services/operations/Keyrings.ts"
import { StoreClock } from "../../../src/services/StoreClock.ts"
import * as StandardSettings from "../../../src/testing/StandardSettings.ts"
import { Backdoor } from "./Backdoor.ts"

/** Secret key for digests of API keys. A process must be started with it to accept the test's keys. */
export const pepper = "a pepper for tests of 32 characters or more"

/** Encrypts endpoint secrets. */
export const authSecret = "an auth secret for tests of 32 characters or more"

const backdoor = Layer.effect(
  Backdoor,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const run = (effect: Effect.Effect<unknown, unknown>) => Effect.orDie(Effect.asVoid(effect))
    return Backdoor.of({
      // Locks the wallet first, like every ledger function. Another order could deadlock with a settlement.
      expireHolds: (accountId) =>
        run(
          sql.withTransaction(
            Effect.andThen(
              sql`select from wallets where account_id = ${accountId} for update`,
              sql`update holds set expires_at = clock_timestamp() where account_id = ${accountId}`
            )
          )
        ),
      deleteAccount: (accountId) =>
        run(sql`update accounts set deleted_at = now(), email = '' where id = ${accountId}`),
      damage: (accountId, what) => {
        if (what === "balance")
          return run(sql`update wallets set balance = balance + 1 where account_id = ${accountId}`)
        if (what === "owed") return run(sql`update wallets set owed = owed + 1 where account_id = ${accountId}`)
        if (what === "allowance") {
          return run(sql`
            update allowances set used = used + 1
            where id = (select allowance_id from accounts where id = ${accountId})`)
        }
        return run(sql`
          delete from queries
          where id = (select id from queries where account_id = ${accountId} and credits > 0 limit 1)`)
      }
    })
  })
)

/**
 * The storage services of one replica, without background sweeps and maintenance: a test that sets the clock would wait
 * for every run of the years before.
 */
export const replica = <E = never, R = never>(
  plans = StandardSettings.plans,
  clock: Layer.Layer<StoreClock, E, R> = StoreClock.own
) =>
  Layer.mergeAll(
    AccountsSql.layer,
    ActivitySql.layer,
    AuditSql.layer,
    BillingBooksSql.layer,
    EventBooksSql.layer({ keyring: singleKeyring(Redacted.make(authSecret)) }),
    KeyStoreSql.layer({ pepper: singleKeyring(Redacted.make(pepper)) }),
    // An infinite interval alone would leave the first sweep, which would take holds that a test has just expired.
    LedgerSql.layer({ sweepInterval: Duration.infinity, keysClearingInterval: Duration.infinity }).pipe(
      Layer.provide(Layer.succeed(ActsOnItsOwn, false))
    ),
    PlanBooksSql.layer,
    QueryLogSql.layer,
    HoldsSql.layer,
    LogRetentionSql.layer,
    OperatorLogSql.layer,
    OperatorsSql.layer,
    OperatorFiguresSql.layer,
    ProviderPausesSql.layer,
    ReplicasSql.layer,
    backdoor
  ).pipe(Layer.provide(plans), Layer.provideMerge([Ids.layer, clock]))

/** All storage services on one migrated database. Compares each row of each statement with its schema. */
export const layer = <E, R>(database: Layer.Layer<SqlClient.SqlClient, E, R>) =>
  replica().pipe(
    Layer.provideMerge(Layer.provideMerge(Migrations.layer, database)),
    Layer.provideMerge(Layer.succeed(CheckRows, true))
  )
