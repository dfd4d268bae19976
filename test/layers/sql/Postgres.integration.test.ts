import { describe, layer } from "@effect/vitest"
import * as Postgres from "../../support/Postgres.ts"
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
import { concurrentTurns, eventQueuesConformance } from "./EventQueues.conformance.ts"
import { eventSecretsConformance } from "./EventSecrets.conformance.ts"
import { secretRotationSqlConformance } from "./SecretRotationSql.conformance.ts"

Postgres.describeWithPostgres("Postgres", () => {
  layer(SqlStorage.layer(Postgres.layer))("on one store", (it) => {
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
      eventQueuesConformance(it, { due: 100_000 })
      concurrentTurns(it)
    })
    describe("QueryLogSql", () => queryLogConformance(it))
    describe("HoldsSql", () => holdsConformance(it))
    describe("OperatorLogSql", () => operatorLogConformance(it))
    describe("ReplicasSql", () => replicasConformance(it))
    describe("SecretRotationSql", () => secretRotationSqlConformance(it))
  })

  // A database of its own: the plans in force are those of every account.
  layer(SqlStorage.layer(Postgres.layer))("PlanBooksSql", (it) => plansConformance(it, SqlStorage.replica()))
})
