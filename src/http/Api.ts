import { HttpApi, OpenApi } from "effect/http-api"
import { documentKeys } from "../domain/requests/fields.ts"
import { version } from "../domain/version.ts"
import { AccessGroup } from "./groups/AccessGroup.ts"
import { AccountGroup } from "./groups/AccountGroup.ts"
import { BillingGroup } from "./groups/BillingGroup.ts"
import { KeysGroup } from "./groups/KeysGroup.ts"
import { McpGroup } from "./groups/McpGroup.ts"
import { MembersGroup } from "./groups/MembersGroup.ts"
import { PagesGroup } from "./groups/PagesGroup.ts"
import { SearchGroup } from "./groups/SearchGroup.ts"
import { UsageGroup } from "./groups/UsageGroup.ts"
import { WebhooksGroup } from "./groups/WebhooksGroup.ts"
import { completeDocument } from "./openapi/completeDocument.ts"

/** Clients can import this definition without the server. */
export class Api extends HttpApi.make("quarry")
  .add(
    SearchGroup,
    PagesGroup,
    AccountGroup,
    UsageGroup,
    KeysGroup,
    AccessGroup,
    MembersGroup,
    BillingGroup,
    WebhooksGroup,
    McpGroup
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Quarry",
      version,
      description: "Web search over six targets, with JSON responses.",
      transform: completeDocument
    })
  ) {}

/** The groups that a deployment serves. Pages are not served if reading them is off (R58). */
export const alwaysServed = HttpApi.make("quarry").add(
  SearchGroup,
  AccountGroup,
  UsageGroup,
  KeysGroup,
  AccessGroup,
  MembersGroup,
  BillingGroup,
  WebhooksGroup,
  McpGroup
)
export const servedWithPages = HttpApi.make("quarry").add(PagesGroup)

export const documentOptions: OpenApi.FromApiOptions = {
  includeAnnotationKey: (key) => documentKeys.has(key) || key === "enum"
}

export const describeApi = (): OpenApi.OpenAPISpec => OpenApi.fromApi(Api, documentOptions)
