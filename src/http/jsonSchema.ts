import { Schema } from "effect"
import { documentKeys } from "../domain/fields.ts"

/** Schemas as clients read them. */

export interface Json {
  [key: string]: unknown
}

export const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null

/**
 * Response objects may gain fields within a version, so the document must not make clients reject them; and the
 * bounds of a JavaScript integer are not a rule of the API.
 */
export const relax = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(relax)
  if (!isObject(value)) return value
  const entries = Object.entries(value).filter(
    ([key, item]) =>
      !(key === "additionalProperties" && typeof item === "boolean") &&
      !((key === "minimum" || key === "maximum") && Math.abs(Number(item)) === Number.MAX_SAFE_INTEGER)
  )
  return Object.fromEntries(entries.map(([key, item]) => [key, relax(item)]))
}

/** The JSON Schema of a schema's encoded side, in one piece: many readers of tool schemas follow no references. */
export const jsonSchemaOf = (schema: Schema.Constraint): Json =>
  relax(
    Schema.toJsonSchemaDocument(schema, {
      referencePolicy: () => undefined,
      includeAnnotationKey: (key) => documentKeys.has(key)
    }).schema
  ) as Json // `relax` keeps an object an object.
