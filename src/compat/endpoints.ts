import { type Context, Predicate, type Schema } from "effect"
import { type HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
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

/** An endpoint with any schemas, which has no other common type. */
interface Endpoint extends HttpApiEndpoint.Constraint, Pick<HttpApiEndpoint.Top, "method" | "path"> {
  readonly annotateMerge: <I>(annotations: Context.Context<I>) => Endpoint
}

interface GroupOptions extends Omit<Documentation, "identifier"> {
  /** Of the group, and of its operation in the document. */
  readonly name: string
  readonly title: string
  readonly programs: string
  readonly endpoint: Endpoint
}

export const groupOf = ({ endpoint, name, programs, title, ...words }: GroupOptions) =>
  HttpApiGroup.make(name)
    .add(endpoint.annotateMerge(documented({ identifier: name, ...words })))
    .annotateMerge(OpenApi.annotations({ title, description: programs }))

export const alias = OpenApi.annotations({ exclude: true })
