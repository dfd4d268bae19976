import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { ActivityParameters } from "../../domain/accounts/ActivityQuery.ts"
import { everyRole, ownerOnly } from "../../domain/accounts/Role.ts"
import { SoldPlan } from "../../domain/billing/BillingRequest.ts"
import { Plan } from "../../domain/credits/Plan.ts"
import { KeyMode } from "../../domain/keys/ApiKey.ts"
import { accepting, acceptingSessions, NeedsFreshSignIn } from "../Callers.ts"
import { FreshSignInRequired, InternalError, InvalidRequest } from "../errors.ts"
import { Gates, RequestDecoding } from "../Gates.ts"
import { Moment } from "../timestamps.ts"
import { ApiKey } from "./KeysGroup.ts"
import { Member } from "./MembersGroup.ts"
import { LoggedQuery, nextCursor } from "./UsageGroup.ts"
import { Webhook, WebhookSettings } from "./WebhooksGroup.ts"

export const Account = Schema.Struct({
  email: Schema.String.annotate({
    description: "The account's email address; empty for a marketplace subscriber"
  }),
  plan: Plan,
  credits_available: Schema.Int.annotate({
    description:
      "Remaining period quota plus credit-pack balance; 9007199254740991 for a marketplace subscriber, who has no quota"
  }),
  api_key: Schema.NullOr(
    Schema.Struct({
      id: Schema.String.annotate({ description: "key_ and 32 hex characters" }),
      label: Schema.String.annotate({ description: "The key's name" }),
      mode: KeyMode
    })
  ).annotate({ description: "The calling key; null for a dashboard session" })
}).annotate({ identifier: "Account" })

export const AccountEvent = Schema.Struct({
  id: Schema.String.annotate({ description: "act_ and 32 hex characters" }),
  at: Moment,
  type: Schema.String.annotate({ description: "The object and the action, as in `key.created`" }),
  actor: Schema.NullOr(Schema.String).annotate({
    description:
      "The email address of a person, the ID of a key, or `operator`; null if nobody acted, as when a payment arrived"
  }),
  address: Schema.NullOr(Schema.String).annotate({ description: "The client's address or network, if it is known" }),
  browser: Schema.NullOr(Schema.String).annotate({ description: "The browser's User-Agent header, if it is known" }),
  changes: Schema.Record(Schema.String, Schema.Json).annotate({
    description: "What changed. Never contains a secret"
  })
}).annotate({ identifier: "AccountEvent" })

export const AccountEvents = Schema.Struct({
  events: Schema.Array(AccountEvent),
  next_cursor: nextCursor
}).annotate({ identifier: "AccountEvents" })

const cents = (description: string) => Schema.Int.annotate({ description: `${description}, in US cents` })

const ExportedSubscription = Schema.Struct({
  id: Schema.String,
  plan: SoldPlan,
  status: Schema.Literals(["active", "past_due", "ended"]),
  started_at: Moment,
  current_period_start: Moment,
  current_period_end: Moment,
  cancel_at_period_end: Schema.Boolean
}).annotate({ identifier: "ExportedSubscription" })

const ExportedOrder = Schema.Struct({
  id: Schema.String,
  kind: Schema.Literals(["pack", "plan"]),
  status: Schema.Literals(["pending", "paid", "void"]),
  created_at: Moment,
  net: cents("The price without tax"),
  refunded: cents("The refunded part of the price"),
  credits_granted: Schema.Int,
  credits_taken_back: Schema.Int.annotate({ description: "Credits removed after a refund or a lost dispute" }),
  dispute_lost: Schema.Boolean
}).annotate({ identifier: "ExportedOrder" })
const { emails_available: _, ...settings } = WebhookSettings.fields

export const AccountExport = Schema.Struct({
  account: Schema.Struct({
    id: Schema.String,
    email: Schema.String,
    plan: Plan,
    quota: Schema.NullOr(Schema.Int),
    used: Schema.Int,
    balance: Schema.Int,
    owed: Schema.Int.annotate({ description: "Credits of refunded packs that had already been spent" }),
    customer_id: Schema.NullOr(Schema.String).annotate({
      description: "The account's id at the payment provider; null if it has never bought anything"
    }),
    created_at: Moment
  }),
  subscriptions: Schema.Array(ExportedSubscription).annotate({ description: "Includes subscriptions that have ended" }),
  orders: Schema.Array(ExportedOrder).annotate({ description: "Payments, newest first" }),
  members: Schema.Array(Member),
  api_keys: Schema.Array(ApiKey),
  webhooks: Schema.Array(Webhook),
  webhook_settings: Schema.Struct(settings),
  events: Schema.Array(AccountEvent).annotate({ description: "Who did what, for the last 400 days, newest first" }),
  queries: Schema.Array(LoggedQuery)
}).annotate({ identifier: "AccountExport" })

export class AccountGroup extends HttpApiGroup.make("account")
  .add(
    HttpApiEndpoint.get("me", "/v1/me", { success: Account, error: InternalError })
      .annotateMerge(
        OpenApi.annotations({
          identifier: "me",
          summary: "The account behind the credential",
          description: "The connection test: a 200 means the credential is valid. Costs no credit."
        })
      )
      .annotateMerge(accepting("key", "marketplace")),
    HttpApiEndpoint.get("export", "/v1/account/export", {
      success: AccountExport,
      error: InternalError
    }).annotateMerge(
      OpenApi.annotations({
        identifier: "exportAccount",
        summary: "Export the account's data",
        description:
          "Returns the account, payments, API keys, webhooks, events and complete query log, newest first, as one JSON document."
      })
    ),
    HttpApiEndpoint.get("events", "/v1/account/events", {
      query: ActivityParameters,
      success: AccountEvents,
      error: [InvalidRequest, InternalError]
    })
      .middleware(RequestDecoding)
      .annotateMerge(
        OpenApi.annotations({
          identifier: "listAccountEvents",
          summary: "Who did what",
          description:
            "Sign-ins, and changes of people, keys, webhooks and the plan, newest first. Events are kept for 400 days. With " +
            "Accept: application/x-ndjson, all matching events from the cursor on are sent, one in each line."
        })
      ),
    HttpApiEndpoint.delete("remove", "/v1/account", {
      success: HttpApiSchema.NoContent,
      error: [FreshSignInRequired, InternalError]
    })
      .annotate(NeedsFreshSignIn, true)
      .annotateMerge(
        OpenApi.annotations({
          identifier: "deleteAccount",
          summary: "Delete the account",
          description:
            "Deletes the data of the account and of people who are members of no other: email addresses, sign-ins, key names and " +
            "query texts. Sessions and keys stop working within 10 seconds, and the payment provider cancels the subscription. " +
            "Payment records are kept, and the email address cannot get another trial. Needs a sign-in within the last ten minutes."
        })
      )
  )
  .pipe(acceptingSessions({ me: everyRole, export: ownerOnly, events: ownerOnly, remove: ownerOnly }))
  .middleware(Gates)
  .annotateMerge(OpenApi.annotations({ title: "Account", description: "The calling account" })) {}
