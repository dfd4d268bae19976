import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { KeyMode } from "../../domain/ApiKey.ts"
import { Plan } from "../../domain/Plan.ts"
import { InternalError } from "../errors.ts"
import { Authentication, RateLimiting } from "../Middleware.ts"

export const Account = Schema.Struct({
  email: Schema.String.annotate({
    description: "The account's email address; empty for a marketplace subscriber"
  }),
  plan: Plan,
  credits_available: Schema.Int.annotate({ description: "Remaining period quota plus credit-pack balance" }),
  api_key: Schema.NullOr(
    Schema.Struct({
      id: Schema.String.annotate({ description: "key_ and 32 hex characters" }),
      label: Schema.String.annotate({ description: "The key's name" }),
      mode: KeyMode
    })
  ).annotate({ description: "The calling key; null for a dashboard session" })
}).annotate({ identifier: "Account" })

export class AccountGroup extends HttpApiGroup.make("account")
  .add(
    HttpApiEndpoint.get("me", "/v1/me", { success: Account, error: InternalError }).annotateMerge(
      OpenApi.annotations({
        identifier: "me",
        summary: "The account behind the credential",
        description: "The connection test: a 200 means the credential is valid. Costs no credit."
      })
    )
  )
  .middleware(RateLimiting)
  .middleware(Authentication)
  .annotateMerge(OpenApi.annotations({ title: "Account", description: "The calling account" })) {}
