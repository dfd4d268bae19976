import { HttpApi, OpenApi } from "effect/http-api"
import { documentKeys, reportAll } from "../domain/requests/fields.ts"
import { version } from "../domain/version.ts"
import { AccessGroup } from "./groups/AccessGroup.ts"
import { AccountGroup } from "./groups/AccountGroup.ts"
import { BillingGroup } from "./groups/BillingGroup.ts"
import { KeysGroup } from "./groups/KeysGroup.ts"
import { McpGroup } from "./groups/McpGroup.ts"
import { PagesGroup } from "./groups/PagesGroup.ts"
import { SearchGroup } from "./groups/SearchGroup.ts"
import { UsageGroup } from "./groups/UsageGroup.ts"
import { WebhooksGroup } from "./groups/WebhooksGroup.ts"
import { completeDocument } from "./openapi/completeDocument.ts"

/** The groups that `HttpApiBuilder` serves. `http/routes.ts` serves the others. */
export const DecodedApi = HttpApi.make("quarry").add(
  AccountGroup,
  UsageGroup,
  KeysGroup,
  AccessGroup,
  BillingGroup,
  WebhooksGroup
)

/** Clients can import this definition without the server. */
export class Api extends HttpApi.make("quarry")
  .add(SearchGroup, PagesGroup)
  .addHttpApi(DecodedApi)
  .add(McpGroup)
  .annotate(HttpApi.QueryParseOptions, reportAll)
  .annotateMerge(
    OpenApi.annotations({
      title: "Quarry",
      version,
      description: "Web search over six targets, with JSON responses.",
      transform: completeDocument
    })
  ) {}

export const documentOptions: OpenApi.FromApiOptions = {
  includeAnnotationKey: (key) => documentKeys.has(key) || key === "enum"
}

export const describeApi = (): OpenApi.OpenAPISpec => OpenApi.fromApi(Api, documentOptions)
