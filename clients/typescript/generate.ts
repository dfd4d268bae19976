import { readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

/*
 * Makes src/api.ts, the types of the client, from openapi.json. `npm run openapi` runs it after the document, and a test
 * fails when the file is stale.
 */

interface Schema {
  readonly $ref?: string
  readonly type?: string
  readonly description?: string
  readonly enum?: ReadonlyArray<string>
  readonly anyOf?: ReadonlyArray<Schema>
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: ReadonlyArray<string>
}

interface Parameter {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly description?: string
  readonly schema: Schema
}

interface Operation {
  readonly parameters: ReadonlyArray<Parameter>
  readonly responses: Readonly<
    Record<string, { readonly content: Readonly<Record<string, { readonly schema: Schema }>> }>
  >
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

const prefix = "#/components/schemas/"

const comment = ({ description }: { readonly description?: string }, indent = ""): string =>
  description === undefined ? "" : `${indent}/** ${description} */\n`

const unionOf = (types: ReadonlyArray<string>): string => [...new Set(types)].join(" | ")

/** The text of a schema's type. `seen` gets the names that it refers to. */
const typeOf = (schema: Schema, seen: Set<string>, indent: string): string => {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.slice(prefix.length)
    seen.add(name)
    return name
  }
  if (schema.anyOf !== undefined) return unionOf(schema.anyOf.map((it) => typeOf(it, seen, indent)))
  if (schema.enum !== undefined) return unionOf(schema.enum.map((it) => JSON.stringify(it)))
  switch (schema.type) {
    case "string":
    case "boolean":
    case "null":
      return schema.type
    case "integer":
    case "number":
      return "number"
    case "array":
      return `ReadonlyArray<${typeOf(schema.items ?? {}, seen, indent)}>`
    case "object":
      return fieldsOf(schema, seen, indent)
    default:
      throw new Error(`No type is known for ${JSON.stringify(schema)}`)
  }
}

const fieldsOf = ({ properties = {}, required = [] }: Schema, seen: Set<string>, indent: string): string => {
  const inner = `${indent}  `
  const fields = Object.entries(properties).map(([name, it]) => {
    const type = typeOf(it, seen, inner)
    return `${comment(it, inner)}${inner}readonly ${name}${required.includes(name) ? `: ${type}` : `?: ${type} | undefined`}\n`
  })
  return `{\n${fields.join("")}${indent}}`
}

const declaration = (name: string, schema: Schema, seen: Set<string>): string => {
  const isInterface = schema.type === "object"
  const type = typeOf(schema, seen, "")
  return `${comment(schema)}export ${isInterface ? `interface ${name} ` : `type ${name} = `}${type}\n`
}

/** Every schema that the client's operations name, and those that they refer to. */
const reachable = ({ components: { schemas } }: Document, names: ReadonlySet<string>): ReadonlyArray<string> => {
  const declarations = new Map<string, string>()
  const waiting = [...names]
  for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
    if (declarations.has(name)) continue
    const schema = schemas[name]
    if (schema === undefined) throw new Error(`The document has no schema ${name}`)
    const seen = new Set<string>()
    declarations.set(name, declaration(name, schema, seen))
    waiting.push(...seen)
  }
  return [...declarations].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, text]) => text)
}

const answers = [
  ...["SearchResult", "BulkRequest", "BulkResult", "BulkLine", "Account"],
  ...["PageResult", "PagesRequest", "PagesResult", "PagesLine"]
]

/** The errors that an operation may answer, and one that a wrong address answers. */
const errorsOf = (operations: ReadonlyArray<Operation>): ReadonlyArray<string> => {
  const seen = new Set(["NotFound"])
  for (const { responses } of operations) {
    for (const [status, { content }] of Object.entries(responses)) {
      if (status === "200") continue
      for (const { schema } of Object.values(content)) typeOf(schema, seen, "")
    }
  }
  return [...seen].sort()
}

/** Query parameters as an object's fields. Those that are `true` or `false` as text are booleans for the caller. */
const parameterTypes = (operation: Operation, name: string, description: string): string => {
  const parameters = operation.parameters.filter((it) => it.in === "query")
  const isFlag = ({ enum: values }: Schema) =>
    values?.length === 2 && values.includes("true") && values.includes("false")
  const schema: Schema = {
    type: "object",
    description,
    properties: Object.fromEntries(
      parameters.map(({ description = "", name, schema }) => [
        name,
        isFlag(schema) ? { type: "boolean", description } : { ...schema, description }
      ])
    ),
    required: parameters.filter(({ required }) => required === true).map(({ name }) => name)
  }
  return declaration(name, schema, new Set())
}

/** The text of src/api.ts. */
export const generate = (document: Document): string => {
  const operation = (path: string, method: string): Operation => {
    const found = document.paths[path]?.[method]
    if (found === undefined) throw new Error(`The document has no ${method} ${path}`)
    return found
  }
  const search = operation("/v1/query", "get")
  const page = operation("/v1/page", "get")
  const bodies = [operation("/v1/bulk", "post"), operation("/v1/pages", "post")]
  const errors = errorsOf([search, page, ...bodies, operation("/v1/me", "get")])
  const geos = search.parameters.find(({ name }) => name === "geo")?.schema.enum ?? []
  const geoType = unionOf(geos.map((it) => JSON.stringify(it)))
  const text = [
    "// Made from openapi.json by generate.ts: npm run openapi.\n",
    `/** Country (ISO 3166-1 alpha-2) */\nexport type Geo = ${geoType}\n`,
    parameterTypes(search, "SearchParameters", "The parameters of one search"),
    parameterTypes(page, "PageParameters", "The parameters of one page"),
    ...reachable(document, new Set([...answers, ...errors])),
    `/** The errors that the API answers, by their code in \`error\` */\nexport type ApiError = ${errors.join(" | ")}\n`
  ]
  const targets = unionOf((document.components.schemas.Target?.enum ?? []).map((it) => JSON.stringify(it)))
  // Their names, because the document lists their values wherever they stand.
  return text.join("\n").replaceAll(`: ${geoType}`, ": Geo").replaceAll(`: ${targets}`, ": Target")
}

const root = new URL("../../", import.meta.url)

export const readDocument = (): Document => JSON.parse(readFileSync(new URL("openapi.json", root), "utf8"))

export const generatedFile = new URL("./src/api.ts", import.meta.url)

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(generatedFile, generate(readDocument()))
