import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { KeyMode } from "../../domain/ApiKey.ts"
import { Plan } from "../../domain/Plan.ts"
import { accepting } from "../Callers.ts"
import { InternalError } from "../errors.ts"
import { Authentication, RateLimiting } from "../Middleware.ts"
import { Moment } from "../wire.ts"
import { ApiKey } from "./KeysGroup.ts"
import { LoggedQuery } from "./UsageGroup.ts"

export const Account = Schema.Struct({
  email: Schema.String.annotate({
    description: "The account's email address; empty for a marketplace subscriber"
  }),
  plan: Plan,
  credits_available: Schema.Int.annotate({
    description:
      "Remaining period quota plus credit-pack balance; 9007199254740991 for a marketplace subscriber, who is never refused"
  }),
  api_key: Schema.NullOr(
    Schema.Struct({
      id: Schema.String.annotate({ description: "key_ and 32 hex characters" }),
      label: Schema.String.annotate({ description: "The key's name" }),
      mode: KeyMode
    })
  ).annotate({ description: "The calling key; null for a dashboard session" })
}).annotate({ identifier: "Account" })

export const AccountExport = Schema.Struct({
  account: Schema.Struct({
    id: Schema.String,
    email: Schema.String,
    plan: Plan,
    quota: Schema.NullOr(Schema.Int),
    used: Schema.Int,
    balance: Schema.Int,
    created_at: Moment
  }),
  api_keys: Schema.Array(ApiKey),
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
      .annotateMerge(accepting("key", "session", "marketplace"))
  )
  .add(
    HttpApiEndpoint.get("export", "/v1/account/export", {
      success: AccountExport,
      error: InternalError
    })
      .annotateMerge(
        OpenApi.annotations({
          identifier: "exportAccount",
          summary: "Everything that is kept about the account",
          description: "The account, its API keys and its whole query log, newest first, as one JSON document."
        })
      )
      .annotateMerge(accepting("session"))
  )
  .add(
    HttpApiEndpoint.delete("remove", "/v1/account", {
      success: HttpApiSchema.NoContent,
      error: InternalError
    })
      .annotateMerge(
        OpenApi.annotations({
          identifier: "deleteAccount",
          summary: "Delete the account",
          description:
            "Removes the person's data: address, sign-ins, key names and query texts. Sessions and keys stop working " +
            "within 10 seconds. What was charged stays in the books, and the address's trial stays claimed."
        })
      )
      .annotateMerge(accepting("session"))
  )
  .middleware(RateLimiting)
  .middleware(Authentication)
  .annotateMerge(OpenApi.annotations({ title: "Account", description: "The calling account" })) {}
