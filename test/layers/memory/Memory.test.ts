import { layer } from "@effect/vitest"
import * as MemoryStorage from "../../support/MemoryStorage.ts"
import { accountsConformance } from "../Accounts.conformance.ts"
import { auditConformance } from "../Audit.conformance.ts"
import { billingConformance } from "../Billing.conformance.ts"
import { eventsConformance } from "../Events.conformance.ts"
import { idempotencyConformance } from "../Idempotency.conformance.ts"
import { keyBoundsConformance } from "../KeyBounds.conformance.ts"
import { keyStoreConformance } from "../KeyStore.conformance.ts"
import { ledgerConformance } from "../Ledger.conformance.ts"
import { plansConformance } from "../Plans.conformance.ts"
import { queryLogConformance } from "../QueryLog.conformance.ts"

layer(MemoryStorage.layer)("LedgerMemory", ledgerConformance)
layer(MemoryStorage.layer)("LedgerMemory", idempotencyConformance)
layer(MemoryStorage.layer)("AccountsMemory", accountsConformance)
layer(MemoryStorage.layer)("AuditMemory", auditConformance)
layer(MemoryStorage.layer)("KeyStoreMemory", keyStoreConformance)
layer(MemoryStorage.layer)("KeyStoreMemory", keyBoundsConformance)
layer(MemoryStorage.layer)("QueryLogMemory", queryLogConformance)
layer(MemoryStorage.layer)("BillingBooksMemory", billingConformance)
layer(MemoryStorage.layer)("EventBooksMemory", eventsConformance)
layer(MemoryStorage.layer)("PlanBooksMemory", (it) => plansConformance(it, MemoryStorage.replica))
