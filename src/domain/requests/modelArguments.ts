import type { RawFields } from "./fields.ts"

/** The part of a JSON Schema that the conversion follows. */
interface JsonSchema {
  readonly type?: unknown
  readonly properties?: unknown
  readonly required?: unknown
  readonly items?: unknown
  readonly anyOf?: unknown
  readonly allOf?: unknown
}

const isMembers = (value: unknown): value is RawFields =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const listOf = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

/** A schema and its variants. */
const variantsOf = (schema: unknown): ReadonlyArray<JsonSchema> =>
  isMembers(schema) ? [schema, ...[...listOf(schema.anyOf), ...listOf(schema.allOf)].flatMap(variantsOf)] : []

const typesOf = (variants: ReadonlyArray<JsonSchema>): ReadonlySet<unknown> =>
  new Set(variants.flatMap(({ type }) => (Array.isArray(type) ? type : [type])))

const readValue = (value: unknown, schema: unknown): unknown => {
  const variants = variantsOf(schema)
  const types = typesOf(variants)
  if (typeof value === "string") {
    if (types.has("string")) return value
    if (types.has("array")) return [value]
    const isNumber = types.has("integer") || types.has("number")
    // Keeps very long digit sequences from becoming Infinity.
    return isNumber && /^[0-9]+$/.test(value) ? Math.min(Number(value), Number.MAX_SAFE_INTEGER) : value
  }
  if (Array.isArray(value)) {
    const items = variants.flatMap((variant) => (variant.items === undefined ? [] : [variant.items]))
    return items.length === 0 ? value : value.map((item) => readValue(item, { anyOf: items }))
  }
  // Goes no deeper than the schema.
  return isMembers(value) && variants.some(({ properties }) => properties !== undefined)
    ? readMembers(value, variants)
    : value
}

const readMembers = (members: RawFields, variants: ReadonlyArray<JsonSchema>): RawFields => {
  const properties = variants.flatMap(({ properties }) => (isMembers(properties) ? [properties] : []))
  const required = new Set(variants.flatMap(({ required }) => listOf(required)))
  return Object.fromEntries(
    Object.entries(members).flatMap(([name, value]): ReadonlyArray<[string, unknown]> => {
      const schema = { anyOf: properties.flatMap((known) => (Object.hasOwn(known, name) ? [known[name]] : [])) }
      const isAbsent = value === null && !required.has(name) && !typesOf(variantsOf(schema)).has("null")
      return isAbsent ? [] : [[name, readValue(value, schema)]]
    })
  )
}

/**
 * Reads a tool's arguments as models and their libraries write them (R81): null for an optional argument is absent, a
 * string of digits is that integer, and a single string is a list of one where `schema`, a JSON Schema, has no other
 * place for it. Leaves everything else for the decoder to judge.
 */
export const readModelArguments = (args: RawFields, schema: unknown): RawFields => readMembers(args, variantsOf(schema))
