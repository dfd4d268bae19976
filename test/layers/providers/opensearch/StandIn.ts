import type { ServerResponse } from "node:http"
import { json, type Received } from "../../../support/servers/UpstreamServer.ts"

/*
 * A stand-in for OpenSearch and Elasticsearch: the endpoints and query clauses that Quarry uses, as both document them.
 * Like the engines, it rejects whatever it does not know. It has no stemming, so words match as they are written.
 */

type Json = Readonly<Record<string, unknown>>
type Source = Json

const isJson = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value)

class Rejected extends Error {}

const only = (value: unknown, ...names: ReadonlyArray<string>): Json => {
  if (!isJson(value)) throw new Rejected("expected an object")
  for (const name of Object.keys(value)) if (!names.includes(name)) throw new Rejected(`unknown key [${name}]`)
  return value
}

const listOf = (value: unknown): ReadonlyArray<unknown> =>
  value === undefined ? [] : Array.isArray(value) ? value : [value]

const wordsOf = (text: unknown): ReadonlyArray<string> =>
  String(text ?? "")
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "")

interface Field {
  readonly type: string
  readonly analyzer?: string
  readonly copyTo?: string
}

/** The fields of a mapping by their dotted paths. */
const fieldsOf = (properties: Json, prefix = ""): ReadonlyArray<readonly [string, Field]> =>
  Object.entries(properties).flatMap(([name, value]) => {
    if (isJson(value) && isJson(value.properties)) return fieldsOf(value.properties, `${prefix}${name}.`)
    const { analyzer, copy_to, type } = only(value, "type", "analyzer", "copy_to", "ignore_above")
    return [[`${prefix}${name}`, { type, analyzer, copyTo: copy_to } as Field] as const]
  })

export class StandIn {
  readonly documents = new Map<string, Source>()
  fields: ReadonlyMap<string, Field> | undefined
  readonly authorization: string | undefined
  /** Answers the next document with this status. */
  nextStatus: number | undefined

  constructor(authorization?: string) {
    this.authorization = authorization
  }

  readonly respond = (received: Received, response: ServerResponse): void => {
    const send = (body: unknown, status = 200) => json(body, status)(received, response)
    if (this.authorization !== undefined && received.headers.authorization !== this.authorization) {
      send({ error: { type: "security_exception" }, status: 401 }, 401)
      return
    }
    try {
      send(this.answer(received))
    } catch (error) {
      if (!(error instanceof Rejected)) throw error
      const isMissing = error.message === "index_not_found_exception"
      send({ error: { type: error.message }, status: isMissing ? 404 : 400 }, isMissing ? 404 : 400)
    }
  }

  private answer({ body, headers, method, path, query }: Received): unknown {
    const endpoint = path.replace(/^\/pages(?:\/|$)/, "")
    const parse = (): Json => JSON.parse(body)
    if (endpoint === path) throw new Rejected("index_not_found_exception")
    if (endpoint === "" && method === "PUT") return this.create(parse())
    if (this.fields === undefined) throw new Rejected("index_not_found_exception")
    if (method !== "POST") throw new Rejected("method not allowed")
    switch (endpoint) {
      case "_bulk":
        if (headers["content-type"] !== "application/x-ndjson") throw new Rejected("content type")
        return this.bulk(body)
      case "_refresh":
        return { _shards: { total: 1, successful: 1, failed: 0 } }
      case "_count":
        return { count: this.matching(only(parse(), "query").query).length, _shards: {} }
      case "_delete_by_query": {
        if (query.get("conflicts") !== "proceed") throw new Rejected("conflicts")
        const gone = this.matching(only(parse(), "query").query)
        for (const [id] of gone) this.documents.delete(id)
        return { deleted: gone.length, failures: [] }
      }
      case "_search":
        return this.search(parse())
    }
    throw new Rejected(`no such endpoint ${endpoint}`)
  }

  private create(body: Json): unknown {
    if (this.fields !== undefined) throw new Rejected("resource_already_exists_exception")
    const { mappings } = only(body, "settings", "mappings")
    const { properties } = only(mappings, "dynamic", "properties")
    if (!isJson(properties)) throw new Rejected("properties")
    this.fields = new Map(fieldsOf(properties))
    return { acknowledged: true, index: "pages" }
  }

  private bulk(body: string): unknown {
    if (!body.endsWith("\n")) throw new Rejected("The bulk request must be terminated by a newline")
    const lines = body.trimEnd().split("\n")
    const items: Array<unknown> = []
    for (let n = 0; n < lines.length; n += 2) {
      const { _id } = only(only(JSON.parse(lines[n] ?? ""), "index").index, "_id")
      const { nextStatus: status = 201 } = this
      this.nextStatus = undefined
      if (status < 300) this.documents.set(String(_id), JSON.parse(lines[n + 1] ?? ""))
      items.push({ index: { _id, status } })
    }
    return { took: 1, errors: items.length === 0, items }
  }

  /** The texts of a field: its own, and those that other fields are copied to. */
  private textsOf(source: Source, path: string): ReadonlyArray<unknown> {
    const own = path.split(".").reduce<unknown>((value, name) => (isJson(value) ? value[name] : undefined), source)
    const copied = [...(this.fields ?? [])].flatMap(([from, { copyTo }]) =>
      copyTo === path ? this.textsOf(source, from) : []
    )
    return [...listOf(own), ...copied]
  }

  private fieldsIn(names: unknown, mustShareAnalyzer: boolean): ReadonlyArray<readonly [string, number]> {
    const fields = listOf(names).map((name) => {
      const [path = "", boost = "1"] = String(name).split("^")
      const field = this.fields?.get(path)
      if (field?.type !== "text") throw new Rejected(`${path} is not a text field`)
      if (Number(boost) < 1) throw new Rejected("boosts below 1 are not supported")
      return [path, Number(boost), field.analyzer] as const
    })
    if (mustShareAnalyzer && new Set(fields.map(([, , analyzer]) => analyzer)).size > 1) {
      throw new Rejected("All fields in [combined_fields] query must have the same search analyzer")
    }
    return fields.map(([path, boost]) => [path, boost])
  }

  private score(source: Source, query: unknown): number {
    const [[kind = "", body] = []] = Object.entries(only(query, ...clauses))
    switch (kind) {
      case "match_all":
        return 1
      case "term": {
        const [[path = "", value] = []] = Object.entries(only(body, "targets", "hosts", "load"))
        return this.textsOf(source, path).includes(value) ? 1 : 0
      }
      case "terms": {
        const { origin } = only(body, "origin")
        return listOf(origin).some((value) => this.textsOf(source, "origin").includes(value)) ? 1 : 0
      }
      case "prefix": {
        const [[path = "", value] = []] = Object.entries(only(body, "path", "url"))
        return this.textsOf(source, path).some((text) => String(text).startsWith(String(value))) ? 1 : 0
      }
      case "exists":
        return this.textsOf(source, String(only(body, "field").field)).length > 0 ? 1 : 0
      case "dis_max":
        return Math.max(...listOf(only(body, "queries").queries).map((inner) => this.score(source, inner)))
      case "bool":
        return this.scoreBool(source, only(body, "must", "filter", "should", "must_not"))
      default:
        return this.scoreText(source, kind, body)
    }
  }

  private scoreBool(source: Source, { filter, must, must_not, should }: Json): number {
    const scores = (list: unknown) => listOf(list).map((inner) => this.score(source, inner))
    if (scores(must_not).some((score) => score > 0)) return 0
    const musts = scores(must)
    const shoulds = scores(should)
    if ([...musts, ...scores(filter)].some((score) => score === 0)) return 0
    if (shoulds.length > 0 && musts.length === 0 && !shoulds.some((score) => score > 0)) return 0
    return [...musts, ...shoulds].reduce((sum, score) => sum + score, 0.001)
  }

  private scoreText(source: Source, kind: string, body: unknown): number {
    const isCombined = kind === "combined_fields"
    const { fields, operator, query, type } = only(body, "query", "fields", "operator", ...(isCombined ? [] : ["type"]))
    const wanted = wordsOf(query)
    const found = this.fieldsIn(fields, isCombined).map(
      ([path, boost]) => [this.textsOf(source, path).map(wordsOf), boost] as const
    )
    if (type === "phrase") {
      return found.some(([texts]) => texts.some((text) => ` ${text.join(" ")} `.includes(` ${wanted.join(" ")} `)))
        ? 1
        : 0
    }
    const scores = wanted.map((word) =>
      found.reduce((sum, [texts, boost]) => sum + boost * texts.flat().filter((it) => it === word).length, 0)
    )
    if (operator === "and" && scores.some((score) => score === 0)) return 0
    return scores.reduce((sum, score) => sum + score, 0)
  }

  private matching(query: unknown): ReadonlyArray<readonly [string, Source, number]> {
    return [...this.documents]
      .map(([id, source]) => [id, source, this.score(source, query)] as const)
      .filter(([, , score]) => score > 0)
      .sort((a, b) => b[2] - a[2])
  }

  private search(body: Json): unknown {
    const { from, highlight, query, size } = only(
      body,
      ...["from", "size", "timeout", "track_total_hits", "_source", "query", "highlight"]
    )
    only(highlight, "pre_tags", "post_tags", "require_field_match", "fields")
    const page = this.matching(query).slice(Number(from), Number(from) + Number(size))
    const hits = page.map(([_id, _source, _score]) => ({ _id, _score, _source }))
    return { took: 1, timed_out: false, _shards: { total: 1, successful: 1, failed: 0 }, hits: { hits } }
  }
}

const clauses = [
  ...["match_all", "term", "terms", "prefix", "exists", "dis_max", "bool", "combined_fields", "multi_match"]
] as const
