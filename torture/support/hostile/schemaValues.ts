import fc from "fast-check"

/** The parts of JSON Schema that our document uses. */
export interface JsonSchema {
  readonly $ref?: string
  readonly type?: string
  readonly enum?: ReadonlyArray<unknown>
  readonly anyOf?: ReadonlyArray<JsonSchema>
  readonly allOf?: ReadonlyArray<JsonSchema>
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: ReadonlyArray<string>
  readonly items?: JsonSchema
  readonly minItems?: number
  readonly maxItems?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly pattern?: string
}

export type Schemas = Readonly<Record<string, JsonSchema>>

/** Maximum lengths of generated lists and texts, if the schema allows more. */
const maxItems = 8
const maxLength = 60

const textOf = ({ maxLength: most = maxLength, minLength = 0, pattern }: JsonSchema): fc.Arbitrary<string> =>
  pattern === undefined
    ? fc.string({ minLength, maxLength: Math.min(most, maxLength), unit: "grapheme" })
    : fc.stringMatching(new RegExp(pattern))

/** Values that a schema allows. `texts` are used for unrestricted strings. */
export const valuesOf = (schema: JsonSchema, schemas: Schemas, texts: fc.Arbitrary<string>): fc.Arbitrary<unknown> => {
  const values = (of: JsonSchema) => valuesOf(of, schemas, texts)
  if (schema.$ref !== undefined) return values(schemas[schema.$ref.split("/").at(-1) ?? ""] ?? {})
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum)
  if (schema.anyOf !== undefined) return fc.oneof(...schema.anyOf.map(values))
  switch (schema.type) {
    case "string":
      return schema.pattern === undefined ? fc.oneof(texts, textOf(schema)) : textOf(schema)
    case "integer":
      return fc.integer({ min: schema.minimum ?? 0, max: schema.maximum ?? 100 })
    case "boolean":
      return fc.boolean()
    case "array":
      return fc.array(values(schema.items ?? {}), {
        minLength: schema.minItems ?? 0,
        maxLength: Math.min(schema.maxItems ?? maxItems, maxItems)
      })
    case "object": {
      const properties = Object.entries(schema.properties ?? {}).map(([name, of]) => [name, values(of)] as const)
      return fc.record(Object.fromEntries(properties), { requiredKeys: [...(schema.required ?? [])] })
    }
    default:
      return fc.jsonValue({ maxDepth: 2 })
  }
}

/** Unexpected values. */
const strange: fc.Arbitrary<unknown> = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom(
    null,
    "",
    " ",
    "\u0000",
    "\ud800",
    "\u202e",
    "💥".repeat(500),
    "x".repeat(10_000),
    "'; drop table queries; --",
    "__proto__",
    "0",
    -1,
    0,
    1.5,
    1e308,
    -0,
    2 ** 53,
    true,
    [],
    {},
    [[]],
    { length: 1 },
    { toString: 1 },
    Array.from({ length: 60 }, (_, n) => `${n}`),
    "../../etc/passwd",
    "https://evil.test",
    "%00",
    "\r\nx-a: b"
  )
)

/** The same value with one part replaced, removed or added. */
export const mutated = (values: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc.oneof(
    { weight: 1, arbitrary: strange },
    {
      weight: 6,
      arbitrary: fc.tuple(values, strange, fc.nat(), fc.constantFrom("replace", "remove", "add")).map(alter)
    }
  )

/** Within a list or record, usually changes one of its parts, at a random depth. */
const alter = ([value, other, chance, how]: [unknown, unknown, number, string]): unknown => {
  if (Array.isArray(value)) {
    const at = value.length === 0 ? 0 : chance % value.length
    if (how === "add") return [...value, other]
    if (how === "remove") return value.toSpliced(at, 1)
    return value.length === 0 ? [other] : value.with(at, alter([value[at], other, chance >> 3, how]))
  }
  if (typeof value !== "object" || value === null) return other
  const entries = Object.entries(value)
  if (how === "add" || entries.length === 0) return { ...value, unknown: other }
  const [name, part] = entries[chance % entries.length] ?? ["", undefined]
  const rest = entries.filter(([key]) => key !== name)
  if (how === "remove") return Object.fromEntries(rest)
  return Object.fromEntries([...rest, [name, chance % 3 === 0 ? alter([part, other, chance >> 3, how]) : other]])
}
