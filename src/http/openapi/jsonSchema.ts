import { Predicate, Schema } from "effect"
import { documentKeys } from "../../domain/requests/fields.ts"

export interface Json {
  [key: string]: unknown
}

/** Allows further response fields, and removes integer bounds that come from JavaScript, not the API. */
export const relax = (document: object): Json => {
  const entries = Object.entries(document).filter(
    ([key, item]) =>
      !(key === "additionalProperties" && typeof item === "boolean") &&
      !((key === "minimum" || key === "maximum") && Math.abs(Number(item)) === Number.MAX_SAFE_INTEGER)
  )
  return Object.fromEntries(entries.map(([key, item]) => [key, relaxValue(item)]))
}

const relaxValue = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(relaxValue)
  return Predicate.isObject(value) ? relax(value) : value
}

/** Inlines references, because many MCP clients do not follow them. */
export const jsonSchemaOf = (schema: Schema.Constraint): Json =>
  relax(
    Schema.toJsonSchemaDocument(schema, {
      referencePolicy: () => undefined,
      includeAnnotationKey: (key) => documentKeys.has(key)
    }).schema
  )
