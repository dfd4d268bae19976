export interface DocumentSchema {
  readonly $ref?: string
  readonly anyOf?: ReadonlyArray<DocumentSchema>
  readonly type?: string
  readonly format?: string
  readonly description?: string
  readonly enum?: ReadonlyArray<unknown>
  readonly default?: unknown
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly pattern?: string
  readonly items?: DocumentSchema
  readonly properties?: Readonly<Record<string, DocumentSchema>>
  readonly required?: ReadonlyArray<string>
}

export interface Parameter {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly description?: string
  readonly example?: unknown
  readonly schema: DocumentSchema
}

export interface Body {
  readonly content?: Readonly<Record<string, { readonly schema: DocumentSchema; readonly example?: unknown }>>
}

export interface Response extends Body {
  readonly description: string
  readonly headers?: Readonly<Record<string, unknown>>
}

export interface Operation {
  readonly operationId: string
  readonly tags: ReadonlyArray<string>
  readonly summary: string
  readonly description: string
  readonly parameters?: ReadonlyArray<Parameter>
  readonly requestBody?: Body
  readonly security: ReadonlyArray<Readonly<Record<string, unknown>>>
  readonly responses: Readonly<Record<string, Response>>
}

export interface SecurityScheme {
  readonly type: string
  readonly scheme?: string
  readonly in?: string
  readonly name?: string
  readonly description: string
}

export interface Document {
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
  readonly servers: ReadonlyArray<{ readonly url: string }>
  readonly tags: ReadonlyArray<{ readonly name: string; readonly description: string }>
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, DocumentSchema>>
    readonly headers: Readonly<Record<string, { readonly description: string; readonly schema: DocumentSchema }>>
    readonly securitySchemes: Readonly<Record<string, SecurityScheme>>
  }
}

export interface Endpoint extends Operation {
  readonly method: string
  readonly path: string
}

export const endpointsOf = ({ paths }: Document): ReadonlyArray<Endpoint> =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path }))
  )

export const nameOf = ({ $ref }: DocumentSchema): string | undefined => $ref?.split("/").at(-1)

export const resolve = (document: Document, schema: DocumentSchema): DocumentSchema => {
  const name = nameOf(schema)
  return name === undefined ? schema : (document.components.schemas[name] ?? schema)
}

/** A field by its path, including nested fields: `period.start`, `series[].group`. */
export interface Field {
  readonly path: string
  readonly required: boolean
  readonly schema: DocumentSchema
}

const isNull = ({ type }: DocumentSchema): boolean => type === "null"

const objectIn = (schema: DocumentSchema, path: string): readonly [DocumentSchema, string] => {
  const options = schema.anyOf?.filter((option) => !isNull(option))
  if (options?.length === 1 && options[0] !== undefined) return objectIn(options[0], path)
  return schema.type === "array" && schema.items !== undefined ? objectIn(schema.items, `${path}[]`) : [schema, path]
}

export const fieldsOf = ({ properties, required }: DocumentSchema, prefix = ""): ReadonlyArray<Field> =>
  Object.entries(properties ?? {}).flatMap(([name, schema]) => {
    const path = `${prefix}${name}`
    const [inner, innerPath] = objectIn(schema, path)
    return [{ path, required: required?.includes(name) ?? false, schema }, ...fieldsOf(inner, `${innerPath}.`)]
  })

export const errorsOf = (
  document: Document
): ReadonlyArray<readonly [status: string, code: string, schema: string]> => {
  const byCode = new Map<string, readonly [string, string, string]>()
  for (const { responses } of endpointsOf(document)) {
    for (const [status, { content }] of Object.entries(responses)) {
      const schema = content?.["application/json"]?.schema
      for (const option of schema?.anyOf ?? (schema === undefined ? [] : [schema])) {
        const [code] = resolve(document, option).properties?.error?.enum ?? []
        if (typeof code === "string") byCode.set(code, [status, code, nameOf(option) ?? ""])
      }
    }
  }
  return [...byCode.values()].sort(([a], [b]) => Number(a) - Number(b))
}
