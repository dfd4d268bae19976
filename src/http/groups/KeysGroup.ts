import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { KeyId, KeyMode } from "../../domain/ApiKey.ts"
import { BudgetPeriod } from "../../domain/KeyBounds.ts"
import { ApiKeyChange, KeyRotation, NewKey } from "../../domain/NewKey.ts"
import { Target } from "../../domain/Target.ts"
import { accepting } from "../Callers.ts"
import { InternalError, InvalidRequest, NotFound } from "../errors.ts"
import { Authentication, RateLimiting } from "../Middleware.ts"
import { Moment, momentOrNull } from "../wire.ts"

/** A budget, and what is spent of it. */
const KeyBudget = Schema.Struct({
  credits: Schema.Int.annotate({ description: "Credits that the key may spend in one period" }),
  period: BudgetPeriod,
  spent: Schema.Int.annotate({
    description: "Credits spent in the present period, those of searches in flight included"
  }),
  resets_at: momentOrNull("The moment at which the next period begins; null for the life of the key")
}).annotate({ identifier: "KeyBudget" })

const fields = {
  id: Schema.String.annotate({ description: "key_ and 32 hex characters" }),
  name: Schema.String,
  type: KeyMode,
  hint: Schema.String.annotate({ description: "The secret's first characters and its last four" }),
  created_at: Moment,
  last_used_at: momentOrNull("To the minute; null when it was never used"),
  revoked_at: momentOrNull(
    "Null while the key is active. It lies ahead while the old secret of a rotated key has its grace"
  ),
  expires_at: momentOrNull("Null where the key does not expire"),
  budget: Schema.NullOr(KeyBudget).annotate({ description: "Null where the account's credits alone count" }),
  targets: Schema.NullOr(Schema.Array(Target)).annotate({
    description: "The targets that the key may use; null for all"
  }),
  networks: Schema.NullOr(Schema.Array(Schema.String)).annotate({
    description: "The networks, in CIDR form, from which the key may be used; null for all"
  })
}

export const ApiKey = Schema.Struct(fields).annotate({ identifier: "ApiKey" })

export const IssuedApiKey = Schema.Struct({
  ...fields,
  secret: Schema.String.annotate({ description: "The key itself: shown in this response and nowhere else" })
}).annotate({ identifier: "IssuedApiKey" })

export const ApiKeys = Schema.Struct({ api_keys: Schema.Array(ApiKey) }).annotate({ identifier: "ApiKeys" })

const params = { id: KeyId }

export class KeysGroup extends HttpApiGroup.make("keys")
  .add(
    HttpApiEndpoint.get("list", "/v1/api-keys", { success: ApiKeys, error: InternalError }).annotateMerge(
      OpenApi.annotations({
        identifier: "listApiKeys",
        summary: "The account's API keys",
        description: "The active keys and those revoked last, newest first."
      })
    )
  )
  .add(
    HttpApiEndpoint.post("create", "/v1/api-keys", {
      payload: NewKey,
      success: IssuedApiKey.pipe(HttpApiSchema.status(201)),
      error: [InvalidRequest, InternalError]
    }).annotateMerge(
      OpenApi.annotations({
        identifier: "createApiKey",
        summary: "Make an API key",
        description:
          "A live key without bounds when nothing else is said. Bounds let a key be handed out: expiry, budget, targets and " +
          "networks. At most 50 keys are active: one more is refused as invalid_request."
      })
    )
  )
  .add(
    HttpApiEndpoint.patch("bind", "/v1/api-keys/:id", {
      params,
      payload: ApiKeyChange,
      success: ApiKey,
      error: [InvalidRequest, NotFound, InternalError]
    }).annotateMerge(
      OpenApi.annotations({
        identifier: "changeApiKey",
        summary: "Change the bounds of an API key",
        description:
          "A field that is left out stays, and null removes a bound. What was spent of a budget in its period stays spent. " +
          "The change counts everywhere within 10 seconds."
      })
    )
  )
  .add(
    HttpApiEndpoint.post("rotate", "/v1/api-keys/:id/rotate", {
      params,
      payload: KeyRotation,
      success: IssuedApiKey,
      error: [InvalidRequest, NotFound, InternalError]
    }).annotateMerge(
      OpenApi.annotations({
        identifier: "rotateApiKey",
        summary: "Replace an API key",
        description:
          "Makes a key of the same name, type and bounds, which goes on with what is left of the budget. The old secret " +
          "works until grace_seconds have passed; without them it stops within 10 seconds. The body may be left out."
      })
    )
  )
  .add(
    HttpApiEndpoint.delete("revoke", "/v1/api-keys/:id", {
      params,
      success: HttpApiSchema.NoContent,
      error: [NotFound, InternalError]
    }).annotateMerge(
      OpenApi.annotations({
        identifier: "revokeApiKey",
        summary: "Revoke an API key",
        description:
          "It stops working within 10 seconds, and with it the secrets before its rotations that have their grace."
      })
    )
  )
  .annotateEndpointsMerge(accepting("session"))
  .middleware(RateLimiting)
  .middleware(Authentication)
  .annotateMerge(OpenApi.annotations({ title: "API keys", description: "The signed-in account's API keys" })) {}
