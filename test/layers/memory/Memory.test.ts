import { layer } from "@effect/vitest"
import * as MemoryStorage from "../../support/stores/MemoryStorage.ts"
import { accountsConformance } from "../conformance/accounts/Accounts.conformance.ts"
import { billingConformance } from "../conformance/billing/Billing.conformance.ts"
import { ledgerConformance } from "../conformance/credits/Ledger.conformance.ts"
import { keyBoundsConformance } from "../conformance/keys/KeyBounds.conformance.ts"
import { keyStoreConformance } from "../conformance/keys/KeyStore.conformance.ts"
import { idempotencyConformance } from "../conformance/search/Idempotency.conformance.ts"
import { queryLogConformance } from "../conformance/search/QueryLog.conformance.ts"
import { eventsConformance } from "../conformance/webhooks/Events.conformance.ts"

layer(MemoryStorage.layer)("LedgerMemory", ledgerConformance)
layer(MemoryStorage.layer)("LedgerMemory", idempotencyConformance)
layer(MemoryStorage.layer)("AccountsMemory", accountsConformance)
layer(MemoryStorage.layer)("KeyStoreMemory", keyStoreConformance)
layer(MemoryStorage.layer)("KeyStoreMemory", keyBoundsConformance)
layer(MemoryStorage.layer)("QueryLogMemory", queryLogConformance)
layer(MemoryStorage.layer)("BillingBooksMemory", billingConformance)
layer(MemoryStorage.layer)("EventBooksMemory", eventsConformance)
