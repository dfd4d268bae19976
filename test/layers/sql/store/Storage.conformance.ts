import { describe, type Vitest } from "@effect/vitest"
import type { Layer } from "effect"
import type * as SqlStorage from "../../../support/stores/SqlStorage.ts"
import { accountsConformance } from "../../conformance/accounts/Accounts.conformance.ts"
import { billingConformance } from "../../conformance/billing/Billing.conformance.ts"
import { holdsConformance } from "../../conformance/credits/Holds.conformance.ts"
import { ledgerConformance } from "../../conformance/credits/Ledger.conformance.ts"
import { keyBoundsConformance } from "../../conformance/keys/KeyBounds.conformance.ts"
import { keyStoreConformance } from "../../conformance/keys/KeyStore.conformance.ts"
import { auditConformance } from "../../conformance/operations/Audit.conformance.ts"
import { operatorLogConformance } from "../../conformance/operations/OperatorLog.conformance.ts"
import { providerPausesConformance } from "../../conformance/operations/ProviderPauses.conformance.ts"
import { replicasConformance } from "../../conformance/operations/Replicas.conformance.ts"
import { idempotencyConformance } from "../../conformance/search/Idempotency.conformance.ts"
import { queryLogConformance } from "../../conformance/search/QueryLog.conformance.ts"
import { eventsConformance } from "../../conformance/webhooks/Events.conformance.ts"
import { auditSqlConformance } from "../operations/AuditSql.conformance.ts"
import { operatorFiguresConformance } from "../operations/OperatorFiguresSql.conformance.ts"
import { secretRotationSqlConformance } from "../operations/SecretRotationSql.conformance.ts"
import { eventQueuesConformance } from "../webhooks/EventQueues.conformance.ts"
import { eventSecretsConformance } from "../webhooks/EventSecrets.conformance.ts"

type Storage = Layer.Success<ReturnType<typeof SqlStorage.layer>>

/** What the services of one SQL store promise. The tests of webhook queues put `due` deliveries into it. */
export const storageConformance = (it: Vitest.MethodsNonLive<Storage>, due: number): void => {
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
    eventQueuesConformance(it, { due })
  })
  describe("QueryLogSql", () => queryLogConformance(it))
  describe("HoldsSql", () => holdsConformance(it))
  describe("OperatorFiguresSql", () => operatorFiguresConformance(it))
  describe("OperatorLogSql", () => operatorLogConformance(it))
  describe("ProviderPausesSql", () => providerPausesConformance(it))
  describe("ReplicasSql", () => replicasConformance(it))
  describe("SecretRotationSql", () => secretRotationSqlConformance(it))
}
