import { Predicate, type Schema } from "effect"
import { OpenApi } from "effect/http-api"
import { jsonSchemaOf } from "../http/openapi/jsonSchema.ts"

const security = [{ apiKey: [] }, { apiKeyBasic: [] }, { apiKeyHeader: [] }, { subscriptionToken: [] }]

/** Documents parameters without declaring them to the library, which would decode before authentication. */
export const parametersOf = (schema: Schema.Constraint) => {
  const { properties, required } = jsonSchemaOf(schema)
  const names = Array.isArray(required) ? required : []
  return Object.entries(Predicate.isObject(properties) ? properties : {}).map(([name, schema]) => ({
    name,
    in: "query",
    required: names.includes(name),
    schema
  }))
}

interface Documentation {
  readonly identifier: string
  readonly summary: string
  readonly description: string
  readonly parameters?: ReadonlyArray<object>
}

export const documented = ({ parameters, ...words }: Documentation) =>
  OpenApi.annotations({ ...words, override: parameters === undefined ? { security } : { security, parameters } })

export const alias = OpenApi.annotations({ exclude: true })
