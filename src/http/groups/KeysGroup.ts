import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { builders, readers } from "../../domain/accounts/Role.ts"
import { KeyId, KeyMode } from "../../domain/keys/ApiKey.ts"
import { BudgetPeriod } from "../../domain/keys/KeyBounds.ts"
import { ApiKeyChange, KeyRotation, NewKey } from "../../domain/keys/NewKey.ts"
import { AnyTarget } from "../../domain/search/Target.ts"
import { acceptingSessions } from "../Callers.ts"
import { InternalError, InvalidRequest, NotFound } from "../errors.ts"
import { BodyIsOptional, Gates, RequestDecoding } from "../Gates.ts"
import { Moment, momentOrNull } from "../timestamps.ts"

export const KeyBudget = Schema.Struct({
  credits: Schema.Int.annotate({ description: "Credits that can be spent in each period" }),
  period: BudgetPeriod,
  spent: Schema.Int.annotate({
    description: "Credits spent in the current period, including searches in progress"
  }),
  resets_at: momentOrNull("When the next period begins; null if the budget covers the lifetime of the key")
}).annotate({ identifier: "KeyBudget" })

const fields = {
  id: Schema.String.annotate({ description: "key_ and 32 hex characters" }),
  name: Schema.String,
  type: KeyMode,
  hint: Schema.String.annotate({ description: "The first characters and the last four characters of the secret" }),
  created_at: Moment,
  created_by: Schema.NullOr(Schema.String).annotate({
    description: "The email address of the person who created the key; null for an operator, or if the person is gone"
  }),
  last_used_at: momentOrNull("To the minute; null if the key was never used"),
  revoked_at: momentOrNull("Null while the key is active. In the future during the grace period of a rotated key"),
  expires_at: momentOrNull("Null if the key does not expire"),
  budget: Schema.NullOr(KeyBudget).annotate({ description: "Null if only the account's credits limit the key" }),
  targets: Schema.NullOr(Schema.Array(AnyTarget)).annotate({
    description: "The targets that the key can use; null for all"
  }),
  networks: Schema.NullOr(Schema.Array(Schema.String)).annotate({
    description: "The networks that can use the key, in CIDR notation; null for all"
  })
}

export const ApiKey = Schema.Struct(fields).annotate({ identifier: "ApiKey" })

export const IssuedApiKey = Schema.Struct({
  ...fields,
  secret: Schema.String.annotate({ description: "The API key. It is shown only in this response" })
}).annotate({ identifier: "IssuedApiKey" })

export const ApiKeys = Schema.Struct({ api_keys: Schema.Array(ApiKey) }).annotate({ identifier: "ApiKeys" })

const params = { id: KeyId }

export class KeysGroup extends HttpApiGroup.make("keys")
  .add(
    HttpApiEndpoint.get("list", "/v1/api-keys", { success: ApiKeys, error: InternalError }).annotateMerge(
      OpenApi.annotations({
        identifier: "listApiKeys",
        summary: "The account's API keys",
        description: "The active keys and the most recently revoked keys, newest first."
      })
    ),
    HttpApiEndpoint.post("create", "/v1/api-keys", {
      payload: NewKey,
      success: IssuedApiKey.pipe(HttpApiSchema.status(201)),
      error: [InvalidRequest, InternalError]
    })
      .middleware(RequestDecoding)
      .annotateMerge(
        OpenApi.annotations({
          identifier: "createApiKey",
          summary: "Create an API key",
          description:
            "Creates a live key without limits unless the body says otherwise. Set an expiry, a budget, targets or networks to " +
            "limit a key that you share. An account can have at most 50 active keys."
        })
      ),
    HttpApiEndpoint.patch("bind", "/v1/api-keys/:id", {
      params,
      payload: ApiKeyChange,
      success: ApiKey,
      error: [InvalidRequest, NotFound, InternalError]
    })
      .middleware(RequestDecoding)
      .annotateMerge(
        OpenApi.annotations({
          identifier: "changeApiKey",
          summary: "Change the limits of an API key",
          description:
            "Fields that are absent keep their values, and null removes a limit. Credits already spent in the current period " +
            "still count. The change takes effect within 10 seconds."
        })
      ),
    HttpApiEndpoint.post("rotate", "/v1/api-keys/:id/rotate", {
      params,
      payload: KeyRotation,
      success: IssuedApiKey,
      error: [InvalidRequest, NotFound, InternalError]
    })
      .middleware(RequestDecoding)
      .annotate(BodyIsOptional, true)
      .annotateMerge(
        OpenApi.annotations({
          identifier: "rotateApiKey",
          summary: "Replace an API key",
          description:
            "Creates a key with the same name, type, limits and remaining budget. The old secret keeps working for " +
            "grace_seconds; without a grace period it stops working within 10 seconds. The body is optional."
        })
      ),
    HttpApiEndpoint.delete("revoke", "/v1/api-keys/:id", {
      params,
      success: HttpApiSchema.NoContent,
      error: [NotFound, InternalError]
    }).annotateMerge(
      OpenApi.annotations({
        identifier: "revokeApiKey",
        summary: "Revoke an API key",
        description: "The key stops working within 10 seconds. So do older secrets that are still in a grace period."
      })
    )
  )
  .pipe(acceptingSessions({ list: readers, create: builders, bind: builders, rotate: builders, revoke: builders }))
  .middleware(Gates)
  .annotateMerge(OpenApi.annotations({ title: "API keys", description: "The signed-in account's API keys" })) {}
