import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { KeyId, KeyMode } from "../../domain/ApiKey.ts"
import { NewKey } from "../../domain/NewKey.ts"
import { accepting } from "../Callers.ts"
import { InternalError, InvalidRequest, NotFound } from "../errors.ts"
import { Authentication, RateLimiting } from "../Middleware.ts"
import { Moment } from "../wire.ts"

const fields = {
  id: Schema.String.annotate({ description: "key_ and 32 hex characters" }),
  name: Schema.String,
  type: KeyMode,
  hint: Schema.String.annotate({ description: "The secret's first characters and its last four" }),
  created_at: Moment,
  last_used_at: Schema.NullOr(Moment).annotate({ description: "To the minute; null when it was never used" }),
  revoked_at: Schema.NullOr(Moment).annotate({ description: "Null while the key is active" })
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
        description: "A live key when no type is named. At most 50 are active: one more is refused as invalid_request."
      })
    )
  )
  .add(
    HttpApiEndpoint.post("rotate", "/v1/api-keys/:id/rotate", {
      params,
      success: IssuedApiKey,
      error: [NotFound, InternalError]
    }).annotateMerge(
      OpenApi.annotations({
        identifier: "rotateApiKey",
        summary: "Replace an API key",
        description:
          "Revokes the key and makes one of the same name and type. The old one stops working within 10 seconds."
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
        description: "It stops working within 10 seconds."
      })
    )
  )
  .annotateEndpointsMerge(accepting("session"))
  .middleware(RateLimiting)
  .middleware(Authentication)
  .annotateMerge(OpenApi.annotations({ title: "API keys", description: "The signed-in account's API keys" })) {}
