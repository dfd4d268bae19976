import type { Schema } from "effect"
import { OpenApi } from "effect/http-api"
import { isObject, jsonSchemaOf } from "../docs/jsonSchema.ts"

const security = [{ apiKey: [] }, { apiKeyBasic: [] }, { apiKeyHeader: [] }, { subscriptionToken: [] }]

const parametersOf = (schema: Schema.Constraint) => {
  const { properties, required } = jsonSchemaOf(schema)
  const names = Array.isArray(required) ? required : []
  return Object.entries(isObject(properties) ? properties : {}).map(([name, schema]) => ({
    name,
    in: "query",
    required: names.includes(name),
    schema
  }))
}

/** Documents parameters without declaring them to the library, which would decode before authentication. */
export const documented = (parameters?: Schema.Constraint) =>
  OpenApi.annotations({
    override: parameters === undefined ? { security } : { security, parameters: parametersOf(parameters) }
  })

export const alias = OpenApi.annotations({ exclude: true })
