import type { ProviderStatus, Status } from "../../domain/operations/Status.ts"
import type { Answer, LoggedSearch, Query } from "../api/routes.ts"

/** The operator's routes. The customer's bundle and openapi.json have none of them. */

export type Act = { readonly command: string } & Readonly<Record<string, string | number | boolean>>

export interface Account {
  readonly account_id: string
  readonly email: string
  readonly plan: string
  readonly quota: number | null
  readonly quota_agreed: boolean
  readonly concurrency: number
  readonly concurrency_agreed: boolean
  readonly cycle_start: string | null
  readonly created_at: string
  readonly suspended_at: string | null
}

export interface Key {
  readonly id: string
  readonly name: string
  readonly hint: string
  readonly created_by: string | null
  readonly last_used_at: string | null
  readonly revoked_at: string | null
}

export interface Member {
  readonly id: string
  readonly email: string
  readonly role: string
  readonly status: string
}

export interface WebhookQueue {
  readonly id: string
  readonly url: string
  readonly queued: number
  readonly failed: number
  readonly failing_since: string | null
  readonly disabled_at: string | null
  readonly paused_at: string | null
}

export interface Customer {
  readonly account: Account
  readonly allowance: {
    readonly quota: number | null
    readonly used: number
    readonly remaining: number | null
    readonly period_start: string | null
    readonly resets_at: string | null
  }
  readonly balance: number
  readonly limits: { readonly concurrency: number; readonly requests_per_minute: number }
  readonly keys: ReadonlyArray<Key>
  readonly members: ReadonlyArray<Member>
  readonly webhooks: ReadonlyArray<WebhookQueue>
  readonly last_seen: string | null
}

export interface Minute {
  readonly at: string
  readonly requests: number
  readonly credits: number
  readonly errors: Readonly<Record<string, number>>
  readonly p50_ms: number | null
  readonly p95_ms: number | null
}

/** The last finished verification of the ledger. */
export interface Verification {
  readonly verified_at: string
  readonly seconds: number
  readonly accounts: number
  readonly problems: Readonly<Record<string, number>>
}

export type Provider = ProviderStatus & {
  readonly cool_down: { readonly reason: string | null; readonly until: string | null } | null
  readonly success_rate: number | null
  readonly paused: { readonly by: string; readonly reason: string; readonly since: string } | null
}

export interface Entry {
  readonly id: string
  readonly at: string
  readonly account_id: string | null
  readonly key_id: string | null
  readonly request_id: string | null
  readonly batch_id: string | null
  readonly row: number | null
  readonly query: string
  readonly target: LoggedSearch["target"]
  readonly geo: string | null
  readonly locale: string | null
  readonly page: number | null
  readonly num: number | null
  readonly safe: LoggedSearch["safe"]
  readonly source: string
  readonly outcome: LoggedSearch["status"]
  readonly credits: number
  readonly cached: boolean
  readonly provider: string | null
  readonly refusals: LoggedSearch["attempts"]
  readonly result_count: number
  readonly duration_ms: number
  readonly host: string | null
  readonly reason: LoggedSearch["reason"]
  readonly bytes: number | null
}

export interface AuditEntry {
  readonly id: number
  readonly at: string
  readonly operator: string
  readonly command: string
  readonly subject: string | null
  readonly arguments: Readonly<Record<string, unknown>>
}

export interface Setting {
  readonly name: string
  readonly value: string | number | boolean | null
  readonly secret: boolean
  readonly source: string
}

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
    "GET /v1/operator/now": Reads<{
      readonly ok: boolean
      readonly problems: ReadonlyArray<{ readonly text: string; readonly runbook: string | null }>
      readonly status: typeof Status.Encoded
      readonly drift: Verification | null
      readonly series: ReadonlyArray<Minute>
    }>
    "GET /v1/operator/customers": Reads<{ customers: ReadonlyArray<Account>; next: string | null }>
    "GET /v1/operator/customers/{id}": Reads<Customer> & OfOne
    "GET /v1/operator/customers/{id}/log": Reads<Answer<"GET /v1/query/history">> & OfOne
    "GET /v1/operator/customers/{id}/activity": Reads<Answer<"GET /v1/account/events">> & OfOne
    "GET /v1/operator/engines": Reads<{
      readonly targets: ReadonlyArray<{ target: string; name: string | null; providers: ReadonlyArray<string> }>
      readonly providers: ReadonlyArray<Provider>
    }>
    "GET /v1/operator/requests/{id}": Reads<{
      readonly kind: string
      readonly entries: ReadonlyArray<Entry>
      readonly truncated: boolean
      readonly ledger: ReadonlyArray<object>
    }> &
      OfOne
    "GET /v1/operator/index": Reads<{
      readonly loading: boolean
      readonly counts: ReadonlyArray<{ target: string | null; language: string | null; documents: number }>
    }>
    "GET /v1/operator/money": Reads<{
      readonly plans: ReadonlyArray<object>
      readonly revenue: { readonly since: string; readonly orders: ReadonlyArray<object> }
      readonly second_subscriptions: ReadonlyArray<object>
      readonly unpaid: ReadonlyArray<object>
      readonly oldest_delivery_seconds: number
      readonly owed_credits: number
      readonly drift: Verification | null
    }>
    "GET /v1/operator/usage/top": Reads<{
      readonly by: string
      readonly from: string
      readonly to: string
      readonly top: ReadonlyArray<object>
    }>
    "GET /v1/operator/audit": Reads<{ entries: ReadonlyArray<AuditEntry>; next: number | null }>
    "GET /v1/operator/settings": Reads<{ settings: ReadonlyArray<Setting> }>
    "POST /v1/operator/index/documents": Reads<string> & { readonly body: Blob }
    "POST /v1/operator/acts": { readonly answer: Readonly<Record<string, unknown>>; readonly body: Act }
  }
}
