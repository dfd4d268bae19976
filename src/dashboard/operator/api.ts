import type {
  AuditEntries,
  Customer as CustomerRead,
  Customers,
  Engines,
  IndexState,
  Money,
  Now,
  OneRequest,
  SettingsInForce,
  TopUsage
} from "../../http/operator/reads.ts"
import type { Answer, Query } from "../api/routes.ts"

/** The operator's routes. The customer's bundle and openapi.json have none of them. */

export type Act = { readonly command: string } & Readonly<Record<string, string | number | boolean>>

export type Customer = CustomerRead
export type Account = Customer["account"]
export type Key = Customer["keys"][number]
export type Member = Customer["members"][number]
export type WebhookQueue = Customer["webhooks"][number]
export type Provider = Engines["providers"][number]

/** The last finished verification of the ledger. */
export type Verification = NonNullable<Now["drift"]>

interface Reads<A> {
  readonly answer: A
  readonly query?: Query
}

interface OfOne {
  readonly params: { readonly id: string }
}

declare module "../api/routes.ts" {
  interface Routes {
    "GET /v1/operator/me": Reads<{ email: string; role: "operator" | "observer"; is_fresh: boolean }>
    "GET /v1/operator/now": Reads<Now>
    "GET /v1/operator/customers": Reads<Customers>
    "GET /v1/operator/customers/{id}": Reads<Customer> & OfOne
    "GET /v1/operator/customers/{id}/log": Reads<Answer<"GET /v1/query/history">> & OfOne
    "GET /v1/operator/customers/{id}/activity": Reads<Answer<"GET /v1/account/events">> & OfOne
    "GET /v1/operator/customers/{id}/usage": Reads<Answer<"GET /v1/usage">> & OfOne
    "GET /v1/operator/engines": Reads<Engines>
    "GET /v1/operator/requests/{id}": Reads<OneRequest> & OfOne
    "GET /v1/operator/index": Reads<IndexState>
    "GET /v1/operator/money": Reads<Money>
    "GET /v1/operator/usage/top": Reads<TopUsage>
    "GET /v1/operator/audit": Reads<AuditEntries>
    "GET /v1/operator/settings": Reads<SettingsInForce>
    "POST /v1/operator/index/documents": Reads<string> & { readonly body: Blob }
    "POST /v1/operator/acts": { readonly answer: Readonly<Record<string, unknown>>; readonly body: Act }
  }
}
