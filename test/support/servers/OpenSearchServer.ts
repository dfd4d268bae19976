import { Ajv } from "ajv"
import { Effect } from "effect"
import { type Answer, json, type Received, serve } from "./UpstreamServer.ts"

/**
 * A strict stand-in for OpenSearch and Elasticsearch: it takes only requests of the published form, and reads queries with
 * a simple analyzer (lower case, no accents, no stems) and without scores. It was written from the engines' documentation.
 */

type Json = Readonly<Record<string, unknown>>

const text = { type: "string", minLength: 1 }
const texts = { type: "array", items: text, minItems: 1 }
const query = { $ref: "#/$defs/query" }
const queries = { type: "array", items: query }

const only = (properties: Json, required: ReadonlyArray<string> = Object.keys(properties)) => ({
  type: "object",
  additionalProperties: false,
  properties,
  required
})

/** A query is an object with one member, which names its kind. */
const queryKinds: Json = {
  bool: only(
    { must: queries, filter: queries, should: queries, must_not: queries, minimum_should_match: { const: 1 } },
    []
  ),
  dis_max: only({ queries: { ...queries, minItems: 1 } }),
  combined_fields: only({ query: text, fields: texts, operator: { enum: ["or", "and"] } }),
  multi_match: only(
    { query: text, type: { enum: ["phrase", "cross_fields"] }, fields: texts, operator: { enum: ["or", "and"] } },
    ["query", "type", "fields"]
  ),
  term: { type: "object", minProperties: 1, maxProperties: 1, additionalProperties: text },
  terms: { type: "object", minProperties: 1, maxProperties: 1, additionalProperties: texts },
  prefix: { type: "object", minProperties: 1, maxProperties: 1, additionalProperties: text },
  match_none: only({})
}

const search = {
  ...only({
    from: { type: "integer", minimum: 0, maximum: 10_000 },
    size: { type: "integer", minimum: 1, maximum: 10_000 },
    timeout: { type: "string", pattern: "^\\d+(ms|s)$" },
    track_total_hits: { type: "boolean" },
    _source: texts,
    query,
    highlight: only({
      type: { enum: ["unified", "plain", "fvh"] },
      require_field_match: { type: "boolean" },
      pre_tags: { type: "array", items: { type: "string" } },
      post_tags: { type: "array", items: { type: "string" } },
      fragment_size: { type: "integer", minimum: 1 },
      number_of_fragments: { type: "integer", minimum: 0 },
      order: { enum: ["none", "score"] },
      fields: { type: "object", minProperties: 1, additionalProperties: only({}) }
    })
  }),
  $defs: {
    query: {
      type: "object",
      minProperties: 1,
      maxProperties: 1,
      additionalProperties: false,
      properties: queryKinds
    }
  }
}

const keyword = only(
  {
    type: { const: "keyword" },
    index: { type: "boolean" },
    doc_values: { type: "boolean" },
    ignore_above: { type: "integer" }
  },
  ["type"]
)
const textField = only({ type: { const: "text" }, analyzer: text, copy_to: text }, ["type", "analyzer"])
const group = only({ properties: { type: "object", additionalProperties: textField } })

const creation = only({
  settings: only({
    analysis: only({
      analyzer: {
        type: "object",
        additionalProperties: only({ type: { const: "custom" }, tokenizer: { const: "standard" }, filter: texts })
      }
    })
  }),
  mappings: only({
    dynamic: { enum: ["strict"] },
    _meta: { type: "object" },
    properties: { type: "object", additionalProperties: { anyOf: [keyword, group] } }
  })
})

const ajv = new Ajv()
const isSearch = ajv.compile(search)
const isCreation = ajv.compile(creation)

const builtIn =
  "arabic armenian basque bengali brazilian bulgarian catalan cjk czech danish dutch english estonian finnish french galician german greek hindi hungarian indonesian irish italian latvian lithuanian norwegian persian portuguese romanian russian sorani spanish swedish turkish thai".split(
    " "
  )

interface Created {
  readonly settings: { readonly analysis: { readonly analyzer: Json } }
  readonly mappings: { readonly properties: Json; readonly _meta: Json }
}

const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value)

/** What is wrong with a mapping's analyzers and copies; undefined if nothing is. */
const mappingFault = ({ mappings, settings }: Created): string | undefined => {
  const analyzers = [...builtIn, ...Object.keys(settings.analysis.analyzer)]
  for (const [name, field] of Object.entries(mappings.properties)) {
    if (!isObject(field) || !isObject(field.properties)) continue
    for (const [part, it] of Object.entries(field.properties)) {
      if (!isObject(it)) continue
      if (!analyzers.includes(String(it.analyzer))) return `analyzer [${it.analyzer}] has not been configured`
      const [to = "", inner = ""] = String(it.copy_to ?? "").split(".")
      const target = mappings.properties[to]
      if (
        it.copy_to !== undefined &&
        !(isObject(target) && isObject(target.properties) && inner in target.properties)
      ) {
        return `copy_to of ${name}.${part} names no field`
      }
    }
  }
  return undefined
}

/** What a strict mapping refuses in a document; undefined if it takes it. */
const documentFault = ({ properties }: Created["mappings"], source: Json): string | undefined => {
  for (const [name, value] of Object.entries(source)) {
    const field = properties[name]
    if (!isObject(field)) return `mapping set to strict, dynamic introduction of [${name}] is not allowed`
    if (!isObject(value)) continue
    for (const part of Object.keys(value)) {
      if (!isObject(field.properties) || !(part in field.properties)) return `[${name}.${part}] is not allowed`
    }
  }
  return undefined
}

const words = (value: string): ReadonlyArray<string> =>
  value
    .normalize("NFD")
    .replaceAll(/\p{M}/gu, "")
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu) ?? []

/** The text of a field, including fields that texts are copied to. */
const valuesOf = (mappings: Created["mappings"], source: Json, field: string): ReadonlyArray<string> => {
  const [path = "", boost = "1"] = field.split("^")
  if (Number(boost) < 1) throw new Error("boosts must be at least 1")
  const [object = "", name] = path.split(".")
  const declared = mappings.properties[object]
  if (!isObject(declared)) throw new Error(`no field ${path}`)
  if (name === undefined) return [source[object]].flat().map(String)
  return Object.entries(source).flatMap(([group, value]) => {
    const field = mappings.properties[group]
    const inner = isObject(field) && isObject(field.properties) ? field.properties[name] : undefined
    const isHere = group === object || (isObject(inner) && inner.copy_to === path)
    return isObject(value) && isHere && typeof value[name] === "string" ? [value[name]] : []
  })
}

const matches = (mappings: Created["mappings"], source: Json, [kind, body]: [string, unknown]): boolean => {
  const it = body as Record<string, never>
  const one = (query: object) => matches(mappings, source, Object.entries(query)[0] ?? ["match_none", {}])
  const [field = "", value] = Object.entries(it)[0] ?? []
  const inFields = (fields: ReadonlyArray<string>) => fields.flatMap((name) => valuesOf(mappings, source, name))
  switch (kind) {
    case "bool": {
      const { filter = [], must = [], must_not = [], should = [] }: Record<string, ReadonlyArray<object>> = it
      return [...must, ...filter].every(one) && !must_not.some(one) && (should.length === 0 || should.some(one))
    }
    case "dis_max":
      return Object.values<object>(it.queries ?? {}).some(one)
    case "combined_fields":
      return words(it.query ?? "").some((word) => inFields(it.fields ?? []).some((text) => words(text).includes(word)))
    case "multi_match": {
      if (it.type === "cross_fields") return one({ combined_fields: { query: it.query, fields: it.fields } })
      const phrase = ` ${words(it.query ?? "").join(" ")} `
      return inFields(it.fields ?? []).some((text) => ` ${words(text).join(" ")} `.includes(phrase))
    }
    case "term":
      return valuesOf(mappings, source, field).includes(String(value))
    case "terms":
      return valuesOf(mappings, source, field).some((text) =>
        (value as unknown as ReadonlyArray<string>).includes(text)
      )
    case "prefix":
      return valuesOf(mappings, source, field).some((text) => text.startsWith(String(value)))
    default:
      return false
  }
}

interface Index extends Created {
  readonly documents: Map<string, Json>
}

const failure = (status: number, type: string, reason: string): Answer =>
  json({ error: { type, reason }, status }, status)

const create = (indexes: Map<string, Index>, name: string, { body, headers }: Received): Answer => {
  const created = JSON.parse(body)
  if (headers["content-type"] !== "application/json" || !isCreation(created)) {
    return failure(400, "parse_exception", ajv.errorsText(isCreation.errors))
  }
  const fault = mappingFault(created as unknown as Created)
  if (fault !== undefined) return failure(400, "mapper_parsing_exception", fault)
  if (indexes.has(name)) return failure(400, "resource_already_exists_exception", name)
  indexes.set(name, { ...(created as unknown as Created), documents: new Map() })
  return json({ acknowledged: true, shards_acknowledged: true, index: name })
}

const bulk = ({ documents, mappings }: Index, { body, headers }: Received): Answer => {
  if (headers["content-type"] !== "application/x-ndjson" || !body.endsWith("\n")) {
    return failure(406, "illegal_argument_exception", "The bulk request must be terminated by a newline [\\n]")
  }
  const lines = body
    .trimEnd()
    .split("\n")
    .map((line): Json => JSON.parse(line))
  const items = Array.from({ length: lines.length / 2 }, (_, at) => {
    const [action = {}, source = {}] = [lines[at * 2], lines[at * 2 + 1]]
    const { _id } = action.index as { readonly _id: string }
    const fault = documentFault(mappings, source)
    if (fault !== undefined) {
      return { index: { _id, status: 400, error: { type: "strict_dynamic_mapping_exception", reason: fault } } }
    }
    const result = documents.has(_id) ? "updated" : "created"
    documents.set(_id, source)
    return { index: { _id, status: result === "created" ? 201 : 200, result } }
  })
  return json({ took: 1, errors: items.some(({ index }) => index.status >= 300), items })
}

const find = ({ documents, mappings }: Index, { body }: Received): Answer => {
  const asked = JSON.parse(body)
  if (!isSearch(asked)) return failure(400, "parsing_exception", ajv.errorsText(isSearch.errors))
  const { from, query, size } = asked as unknown as { from: number; size: number; query: object }
  const found = [...documents].filter(([, source]) => matches(mappings, source, Object.entries(query)[0] ?? ["", {}]))
  const hits = found.slice(from, from + size).map(([_id, source]) => {
    const parts = Object.entries(source).filter(([, value]) => isObject(value)) as Array<[string, Json]>
    return {
      _index: "it",
      _id,
      _score: 1,
      _source: {
        url: source.url,
        ...Object.fromEntries(
          parts.map(([name, { description, title }]) => [
            name,
            { title, ...(description === undefined ? {} : { description }) }
          ])
        )
      },
      ...Object.fromEntries(
        parts.flatMap(([name, { content }]) =>
          content === undefined ? [] : [["highlight", { [`${name}.content`]: [String(content)] }]]
        )
      )
    }
  })
  const _shards = { total: 1, successful: 1, skipped: 0, failed: 0 }
  return json({ took: 1, timed_out: false, _shards, hits: { max_score: 1, hits } })
}

export interface Options {
  /** The value of `authorization` that requests must have. */
  readonly authorization?: string
  /** Answers instead of the engine, where it returns something. */
  readonly instead?: (received: Received) => Answer | undefined
}

/** An engine on the loopback, with its indexes. */
export const start = Effect.fnUntraced(function* ({ authorization, instead }: Options = {}) {
  const indexes = new Map<string, Index>()
  const answer = (received: Received): Answer => {
    if (authorization !== undefined && received.headers.authorization !== authorization) {
      return failure(401, "security_exception", "missing authentication credentials")
    }
    const [, name = "", path = ""] = received.path.split("/")
    const request = `${received.method} ${path}`
    if (request === "PUT ") return create(indexes, name, received)
    const index = indexes.get(name)
    if (index === undefined) return failure(404, "index_not_found_exception", `no such index [${name}]`)
    if (request === "GET _mapping") return json({ [name]: { mappings: index.mappings } })
    if (request === "POST _bulk") return bulk(index, received)
    if (request === "POST _search") return find(index, received)
    return failure(405, "illegal_argument_exception", `no handler for ${request}`)
  }
  const server = yield* serve((received, response) => (instead?.(received) ?? answer(received))(received, response))
  return { ...server, indexes }
})
