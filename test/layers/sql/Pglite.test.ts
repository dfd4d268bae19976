import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Pglite from "../../../src/layers/sql/Pglite.ts"
import * as SqlStorage from "../../support/SqlStorage.ts"
import { accountsConformance } from "../Accounts.conformance.ts"
import { auditConformance } from "../Audit.conformance.ts"
import { billingConformance } from "../Billing.conformance.ts"
import { eventsConformance } from "../Events.conformance.ts"
import { holdsConformance } from "../Holds.conformance.ts"
import { idempotencyConformance } from "../Idempotency.conformance.ts"
import { keyBoundsConformance } from "../KeyBounds.conformance.ts"
import { keyStoreConformance } from "../KeyStore.conformance.ts"
import { ledgerConformance } from "../Ledger.conformance.ts"
import { operatorLogConformance } from "../OperatorLog.conformance.ts"
import { plansConformance } from "../Plans.conformance.ts"
import { queryLogConformance } from "../QueryLog.conformance.ts"
import { replicasConformance } from "../Replicas.conformance.ts"
import { auditSqlConformance } from "./AuditSql.conformance.ts"
import { eventQueuesConformance } from "./EventQueues.conformance.ts"
import { eventSecretsConformance } from "./EventSecrets.conformance.ts"
import { secretRotationSqlConformance } from "./SecretRotationSql.conformance.ts"

layer(SqlStorage.layer(Pglite.layer({ dataDir: undefined })))("PGlite", (it) => {
  describe("LedgerSql", () => {
    ledgerConformance(it)
    idempotencyConformance(it)
  })
  describe("AccountsSql", () => accountsConformance(it))
  describe("AuditSql", () => {
    auditConformance(it)
    auditSqlConformance(it)
  })
  describe("BillingBooksSql", () => billingConformance(it))
  describe("KeyStoreSql", () => {
    keyStoreConformance(it)
    keyBoundsConformance(it)
  })
  describe("EventBooksSql", () => {
    eventsConformance(it)
    eventSecretsConformance(it)
    eventQueuesConformance(it, { due: 20_000 })
  })
  describe("QueryLogSql", () => queryLogConformance(it))
  describe("HoldsSql", () => holdsConformance(it))
  describe("OperatorLogSql", () => operatorLogConformance(it))
  describe("ReplicasSql", () => replicasConformance(it))
  describe("SecretRotationSql", () => secretRotationSqlConformance(it))

  it.effect("timers and sockets have their turn while statements follow each other", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      let isOver = false
      setTimeout(() => {
        isOver = true
      }, 0)
      yield* Effect.repeat(sql`select 1`, { until: () => isOver, times: 2000 })
      assert.isTrue(isOver)
    })
  )
})

// A store of its own: the plans in force are those of every account.
layer(SqlStorage.layer(Pglite.layer({ dataDir: undefined })))("PGlite, PlanBooksSql", (it) =>
  plansConformance(it, SqlStorage.replica())
)
