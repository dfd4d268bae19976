import type { AccountChoice, MemberChange, NewMember } from "../../domain/accounts/MemberRequest.ts"
import type { BillingSync, CheckoutRequest, PackOrder, PlanChange } from "../../domain/billing/BillingRequest.ts"
import type { ApiKeyChange, KeyRotation, NewKey } from "../../domain/keys/NewKey.ts"
import type { PageResult } from "../../domain/pages/PageBody.ts"
import type { PagesRequest, PagesResult } from "../../domain/pages/PagesRequest.ts"
import type { BulkRequest } from "../../domain/search/BulkRequest.ts"
import type { BulkResult } from "../../domain/search/BulkResult.ts"
import type { SearchResult } from "../../domain/search/SearchResult.ts"
import type {
  EventSettingsChange,
  NewWebhook,
  SecretRotation,
  WebhookChange
} from "../../domain/webhooks/WebhookRequest.ts"
import type { ConnectedApps, SessionAccounts, Sessions } from "../../http/groups/AccessGroup.ts"
import type { Account, AccountEvent as AccountEventSchema, AccountEvents } from "../../http/groups/AccountGroup.ts"
import type { BillingState, ChangedPlan, Checkout, PackCheckout, Portal } from "../../http/groups/BillingGroup.ts"
import type { ApiKey, ApiKeys, IssuedApiKey } from "../../http/groups/KeysGroup.ts"
import type { Member, Members } from "../../http/groups/MembersGroup.ts"
import type { LoggedQuery, QueryHistory, Usage as UsageSchema } from "../../http/groups/UsageGroup.ts"
import type {
  IssuedWebhook,
  Webhook,
  WebhookDeliveries,
  WebhookDelivery,
  WebhookList,
  WebhookSettings
} from "../../http/groups/WebhooksGroup.ts"

type Wire<S extends { readonly Encoded: unknown }> = S["Encoded"]

export type Query = Readonly<Record<string, string | number | undefined>>

interface Returns<Answer> {
  readonly answer: Answer
}

interface Reads<Answer> extends Returns<Answer> {
  readonly query?: Query
}

interface Takes<Answer, Body extends object> extends Returns<Answer> {
  readonly body: Body
}

interface Id {
  readonly params: { readonly id: string }
}

/** `twoFactorRedirect` if a second factor is needed first. */
interface SignedIn {
  readonly twoFactorRedirect?: true
}

interface Passkey {
  readonly id: string
  readonly name: string | null
  readonly createdAt: string
}

type Ignored = unknown

/** The API routes that the dashboard calls, by method and path. A test compares them with openapi.json. */
export interface Routes {
  "GET /v1/me": Returns<Wire<typeof Account>>
  "GET /v1/usage": Reads<Usage>
  "GET /v1/query": Reads<Wire<typeof SearchResult>>
  "POST /v1/bulk": Takes<Wire<typeof BulkResult>, Wire<typeof BulkRequest>>
  "GET /v1/page": Reads<Wire<typeof PageResult>>
  "POST /v1/pages": Takes<Wire<typeof PagesResult>, Wire<typeof PagesRequest>>
  "GET /v1/query/history": Reads<Wire<typeof QueryHistory>>
  "GET /v1/api-keys": Returns<Wire<typeof ApiKeys>>
  "POST /v1/api-keys": Takes<Wire<typeof IssuedApiKey>, Wire<typeof NewKey>>
  "PATCH /v1/api-keys/{id}": Takes<Wire<typeof ApiKey>, Wire<typeof ApiKeyChange>> & Id
  "POST /v1/api-keys/{id}/rotate": Takes<Wire<typeof IssuedApiKey>, Wire<typeof KeyRotation>> & Id
  "DELETE /v1/api-keys/{id}": Returns<Ignored> & Id
  "GET /v1/sessions": Returns<Wire<typeof Sessions>>
  "DELETE /v1/sessions/{session_id}": Returns<Ignored> & { readonly params: { readonly session_id: string } }
  "GET /v1/session/account": Returns<Wire<typeof SessionAccounts>>
  "POST /v1/session/account": Takes<Ignored, Wire<typeof AccountChoice>>
  "GET /v1/members": Returns<Wire<typeof Members>>
  "POST /v1/members": Takes<Wire<typeof Member>, Wire<typeof NewMember>>
  "POST /v1/members/{id}/resend": Returns<Wire<typeof Member>> & Id
  "PATCH /v1/members/{id}": Takes<Wire<typeof Member>, Wire<typeof MemberChange>> & Id
  "DELETE /v1/members/{id}": Returns<Ignored> & Id
  "GET /v1/apps": Returns<Wire<typeof ConnectedApps>>
  "DELETE /v1/apps/{app_id}": Returns<Ignored> & { readonly params: { readonly app_id: string } }
  "GET /v1/account/export": Returns<Ignored>
  "GET /v1/account/events": Reads<Wire<typeof AccountEvents>>
  "GET /v1/billing": Returns<Wire<typeof BillingState>>
  "POST /v1/billing/checkout": Takes<Wire<typeof Checkout>, Wire<typeof CheckoutRequest>>
  "POST /v1/billing/plan": Takes<Wire<typeof ChangedPlan>, Wire<typeof PlanChange>>
  "POST /v1/billing/packs": Takes<Wire<typeof PackCheckout>, Wire<typeof PackOrder>>
  "POST /v1/billing/portal": Returns<Wire<typeof Portal>>
  "POST /v1/billing/sync": Takes<Wire<typeof BillingState>, Wire<typeof BillingSync>>
  "GET /v1/webhooks": Returns<Wire<typeof WebhookList>>
  "POST /v1/webhooks": Takes<Wire<typeof IssuedWebhook>, Wire<typeof NewWebhook>>
  "GET /v1/webhooks/settings": Returns<Wire<typeof WebhookSettings>>
  "PATCH /v1/webhooks/settings": Takes<Wire<typeof WebhookSettings>, Wire<typeof EventSettingsChange>>
  "PATCH /v1/webhooks/{id}": Takes<Wire<typeof Webhook>, Wire<typeof WebhookChange>> & Id
  "DELETE /v1/webhooks/{id}": Returns<Ignored> & Id
  "POST /v1/webhooks/{id}/test": Returns<Wire<typeof WebhookDelivery>> & Id
  "POST /v1/webhooks/{id}/rotate": Takes<Wire<typeof IssuedWebhook>, Wire<typeof SecretRotation>> & Id
  "GET /v1/webhooks/{id}/deliveries": Reads<Wire<typeof WebhookDeliveries>> & Id
  "POST /v1/webhooks/{id}/deliveries/{delivery}/redeliver": Returns<Wire<typeof WebhookDelivery>> & {
    readonly params: { readonly id: string; readonly delivery: string }
  }
  "DELETE /v1/account": Returns<Ignored>
  "GET /api/auth/get-session": Returns<{ readonly user: { readonly twoFactorEnabled: boolean } } | null>
  "POST /api/auth/sign-in/email": Takes<SignedIn, { readonly email: string; readonly password: string }>
  "POST /api/auth/two-factor/enable": Takes<
    { readonly totpURI: string; readonly qrCode: string; readonly backupCodes: ReadonlyArray<string> },
    Record<string, never>
  >
  "POST /api/auth/two-factor/disable": Takes<Ignored, Record<string, never>>
  "POST /api/auth/two-factor/generate-backup-codes": Takes<
    { readonly backupCodes: ReadonlyArray<string> },
    Record<string, never>
  >
  "POST /api/auth/two-factor/verify-totp": Takes<Ignored, { readonly code: string }>
  "POST /api/auth/two-factor/verify-backup-code": Takes<Ignored, { readonly code: string }>
  "GET /api/auth/passkey/generate-register-options": Returns<object>
  "GET /api/auth/passkey/generate-authenticate-options": Returns<object>
  "GET /api/auth/passkey/list-user-passkeys": Returns<ReadonlyArray<Passkey>>
  "POST /api/auth/passkey/verify-registration": Takes<Ignored, { readonly response: object; readonly name: string }>
  "POST /api/auth/passkey/verify-authentication": Takes<Ignored, { readonly response: object }>
  "POST /api/auth/passkey/delete-passkey": Takes<Ignored, { readonly id: string }>
  "POST /api/auth/change-password": Takes<Ignored, { readonly currentPassword: string; readonly newPassword: string }>
  "POST /api/auth/revoke-sessions": Takes<Ignored, Record<string, never>>
  "POST /api/auth/sign-out": Takes<Ignored, Record<string, never>>
}

export type RouteName = keyof Routes

export type AccountEvent = Wire<typeof AccountEventSchema>

export type LoggedSearch = Wire<typeof LoggedQuery>

export type Usage = Wire<typeof UsageSchema>

export type Key = Wire<typeof ApiKey>

export type Answer<R extends RouteName> = Routes[R]["answer"]

export type Input<R extends RouteName> = Omit<Routes[R], "answer"> & {
  readonly signal?: AbortSignal
  /** The media type to ask for instead of JSON. */
  readonly accept?: string
}
