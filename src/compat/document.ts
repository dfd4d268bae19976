import { Predicate } from "effect"
import { OpenApi } from "effect/http-api"
import type { CompatShape } from "../domain/compat/CompatShape.ts"
import { Api, documentOptions } from "../http/Api.ts"
import { quotaHeaderNames } from "../http/headerNames.ts"
import { completeDocument, headerReferences, operationsOf, showExample } from "../http/openapi/completeDocument.ts"
import type { Json } from "../http/openapi/jsonSchema.ts"
import { requestExamples, responseExamples } from "./examples.ts"
import { OpenWebUiGroup } from "./OpenWebUiGroup.ts"
import { ExaContentsGroup } from "./pages/ExaContentsGroup.ts"
import { FirecrawlGroup } from "./pages/FirecrawlGroup.ts"
import { JinaGroup } from "./pages/JinaGroup.ts"
import { OpenWebUiLoadGroup } from "./pages/OpenWebUiLoadGroup.ts"
import { TavilyExtractGroup } from "./pages/TavilyExtractGroup.ts"
import { SearxngGroup } from "./SearxngGroup.ts"
import { TavilyGroup } from "./TavilyGroup.ts"
import { BraveGroup } from "./web/BraveGroup.ts"
import { ExaGroup } from "./web/ExaGroup.ts"
import { PerplexityGroup } from "./web/PerplexityGroup.ts"
import { SerperGroup } from "./web/SerperGroup.ts"

/** Statuses of responses that may have spent credits: 432 is Tavily's for a spent quota. */
const spendingStatuses = ["200", "402", "422", "432", "502", "504"]

const completeOperation = (operation: Json): void => {
  const id = String(operation.operationId)
  showExample(operation.requestBody, requestExamples[id])
  for (const [status, response] of Object.entries(Predicate.isObject(operation.responses) ? operation.responses : {})) {
    if (!Predicate.isObject(response)) continue
    if (status.startsWith("2")) showExample(response, responseExamples[id])
    response.headers = {
      ...(Predicate.isObject(response.headers) ? response.headers : {}),
      ...(status === "401" || status === "500" ? {} : headerReferences(["X-Quarry-Ignored"])),
      ...(spendingStatuses.includes(status) ? headerReferences(quotaHeaderNames) : {})
    }
  }
}

const headers: Json = {
  "X-Quarry-Ignored": {
    description: "Names of sent parameters that had no effect, separated by commas. Absent if there are none.",
    schema: { type: "string" }
  }
}

const securitySchemes: Json = {
  apiKeyBasic: { type: "http", scheme: "basic", description: "The API key as username or password." },
  apiKeyHeader: { type: "apiKey", in: "header", name: "X-API-Key", description: "The API key." },
  subscriptionToken: { type: "apiKey", in: "header", name: "X-Subscription-Token", description: "The API key." }
}

/** Completes the API's own part of the document, and then adds what its compatible endpoints need. */
const complete = (generated: Json): Json => {
  const document = completeDocument(generated)
  const operations = operationsOf(document, "/compat/")
  for (const operation of operations) completeOperation(operation)
  const { components } = document
  if (operations.length > 0 && Predicate.isObject(components)) {
    components.headers = { ...(Predicate.isObject(components.headers) ? components.headers : {}), ...headers }
    components.securitySchemes = {
      ...(Predicate.isObject(components.securitySchemes) ? components.securitySchemes : {}),
      ...securitySchemes
    }
  }
  return document
}

export const describeApiWith = (shapes: ReadonlyArray<CompatShape>): OpenApi.OpenAPISpec => {
  const isOff = (shape: CompatShape): boolean => !shapes.includes(shape)
  const api = Api.add(
    SearxngGroup.annotate(OpenApi.Exclude, isOff("searxng")),
    TavilyGroup.annotate(OpenApi.Exclude, isOff("tavily")),
    OpenWebUiGroup.annotate(OpenApi.Exclude, isOff("openwebui")),
    PerplexityGroup.annotate(OpenApi.Exclude, isOff("perplexity")),
    BraveGroup.annotate(OpenApi.Exclude, isOff("brave")),
    SerperGroup.annotate(OpenApi.Exclude, isOff("serper")),
    ExaGroup.annotate(OpenApi.Exclude, isOff("exa")),
    TavilyExtractGroup.annotate(OpenApi.Exclude, isOff("tavily")),
    OpenWebUiLoadGroup.annotate(OpenApi.Exclude, isOff("openwebui")),
    ExaContentsGroup.annotate(OpenApi.Exclude, isOff("exa")),
    FirecrawlGroup.annotate(OpenApi.Exclude, isOff("firecrawl")),
    JinaGroup.annotate(OpenApi.Exclude, isOff("jina"))
  ).annotateMerge(OpenApi.annotations({ transform: complete }))
  return OpenApi.fromApi(api, documentOptions)
}
