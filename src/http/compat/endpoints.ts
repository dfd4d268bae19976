import type { Schema } from "effect"
import { OpenApi } from "effect/http-api"
import { isObject, jsonSchemaOf } from "../jsonSchema.ts"

/** Parts of the document that the definitions of these endpoints have in common. */

/** The ways in which a key can be sent, by the names of their security schemes (R43). */
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

/**
 * The credentials and parameters of an endpoint, for the document. Parameters are not declared to the library, which would
 * decode them before the credential is judged.
 */
export const documented = (parameters?: Schema.Constraint) =>
  OpenApi.annotations({
    override: parameters === undefined ? { security } : { security, parameters: parametersOf(parameters) }
  })

/** Leaves a second address of the same endpoint out of the document. */
export const alias = OpenApi.annotations({ exclude: true })
