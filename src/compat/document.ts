import { Predicate } from "effect"
import { OpenApi } from "effect/http-api"
import { type CompatShape, compatShapes } from "../domain/compat/CompatShape.ts"
import { Api, describeApi, documentOptions } from "../http/Api.ts"
import { quotaHeaderNames } from "../http/headerNames.ts"
import { completeDocument, headerReferences, operationsOf, showExample } from "../http/openapi/completeDocument.ts"
import type { Json } from "../http/openapi/jsonSchema.ts"
import type { CompatService } from "./CompatService.ts"
import { services } from "./services.ts"

type Examples = CompatService["examples"]

/** Statuses of responses that may have spent credits: 432 is Tavily's for a spent quota. */
const spendingStatuses = ["200", "402", "422", "432", "502", "504"]

const completeOperation = (operation: Json, examples: Examples): void => {
  const example = examples[String(operation.operationId)]
  showExample(operation.requestBody, example?.request)
  for (const [status, response] of Object.entries(Predicate.isObject(operation.responses) ? operation.responses : {})) {
    if (!Predicate.isObject(response)) continue
    if (status.startsWith("2")) showExample(response, example?.response)
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
const completeWith =
  (examples: Examples) =>
  (generated: Json): Json => {
    const document = completeDocument(generated)
    const operations = operationsOf(document, "/compat/")
    for (const operation of operations) completeOperation(operation, examples)
    const { components } = document
    if (Predicate.isObject(components)) {
      components.headers = { ...(Predicate.isObject(components.headers) ? components.headers : {}), ...headers }
      components.securitySchemes = {
        ...(Predicate.isObject(components.securitySchemes) ? components.securitySchemes : {}),
        ...securitySchemes
      }
    }
    return document
  }

export const describeApiWith = (shapes: ReadonlyArray<CompatShape>): OpenApi.OpenAPISpec => {
  const enabled = compatShapes.filter((shape) => shapes.includes(shape)).map((shape) => services[shape])
  const [first, ...others] = enabled.flatMap(({ routes }) => routes.map(({ group }) => group))
  if (first === undefined) return describeApi()
  const examples = Object.assign({}, ...enabled.map((service) => service.examples))
  const api = Api.add(first, ...others).annotateMerge(OpenApi.annotations({ transform: completeWith(examples) }))
  return OpenApi.fromApi(api, documentOptions)
}
