import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Tiktoken } from "js-tiktoken/lite"
import o200k from "js-tiktoken/ranks/o200k_base"
import { currentRequest, post } from "../support/api/Mcp.ts"
import { aCaller, found, providing, services } from "../support/api/Services.ts"
import * as TestApi from "../support/api/TestApi.ts"

const layer = services(providing(() => Effect.succeed(found(1))))

interface Schema {
  readonly [keyword: string]: unknown
}

interface Definition {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly inputSchema: Schema
  readonly outputSchema: Schema
}

/** The tools that an address lists, by their names. */
const list = (query = "") =>
  Effect.gen(function* () {
    const api = yield* TestApi.make
    const { auth } = yield* aCaller({ plan: "trial" })
    const { body, headers } = currentRequest("tools/list")
    const sent = { "content-type": "application/json", ...auth, ...headers }
    const answer = yield* api.send("POST", `/mcp${query}`, { headers: sent, body })
    return { status: answer.status, json: answer.json, tools: (answer.json.result?.tools ?? []) as Array<Definition> }
  })

const isSchema = (value: unknown): value is Schema =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** A schema and all schemas in it, with their places. */
const within = (schema: Schema, place: string): ReadonlyArray<readonly [string, Schema]> => {
  const properties = isSchema(schema.properties) ? Object.entries(schema.properties) : []
  const branches = Array.isArray(schema.anyOf)
    ? schema.anyOf.map((branch, index) => [`anyOf.${index}`, branch] as const)
    : []
  const parts: ReadonlyArray<readonly [string, unknown]> = [...properties, ...branches, ["items", schema.items]]
  const inner = parts.flatMap(([name, part]) => (isSchema(part) ? within(part, `${place}.${name}`) : []))
  return [[place, schema], ...inner]
}

/**
 * The keywords that OpenAI's, Anthropic's and Gemini's tools all take in a schema of arguments. Each of the three takes
 * more; `oneOf`, `allOf`, `not`, `const`, `$ref`, `patternProperties` and lists of types are refused by one of them.
 */
const keywords = new Set([
  "additionalProperties",
  "anyOf",
  "default",
  "description",
  "enum",
  "format",
  "items",
  "maxItems",
  "maxLength",
  "maximum",
  "minItems",
  "minLength",
  "minimum",
  "pattern",
  "properties",
  "required",
  "title",
  "type"
])

const lint = (place: string, schema: Schema): ReadonlyArray<string> => {
  const issues = Object.keys(schema).flatMap((keyword) => (keywords.has(keyword) ? [] : [`${keyword} is not taken`]))
  if (schema.type === undefined && schema.anyOf === undefined) issues.push("has no type")
  if (schema.enum !== undefined && schema.type !== "string") issues.push("Gemini takes enum for strings only")
  if (schema.type === "object") {
    const { properties, required = [] } = schema
    if (!isSchema(properties)) return [...issues, `${place}: OpenAI refuses an object without properties`]
    if (schema.additionalProperties !== false) issues.push("is open to other fields")
    for (const name of Object.keys(properties)) {
      if (!/^[a-zA-Z0-9_.-]{1,64}$/.test(name)) issues.push(`Anthropic refuses the name ${name}`)
    }
    for (const name of required as ReadonlyArray<string>) {
      if (!Object.hasOwn(properties, name)) issues.push(`requires ${name}, which Gemini refuses without a property`)
    }
  }
  return issues.map((issue) => `${place}: ${issue}`)
}

describe("the schemas of the tools", () => {
  const addresses = ["", "?tools=search,fetch"]

  it.effect.each(addresses)("of /mcp%s are taken by OpenAI, Anthropic and Gemini", (query) =>
    Effect.gen(function* () {
      const { tools } = yield* list(query)
      assert.isNotEmpty(tools)
      for (const { description, inputSchema, name } of tools) {
        assert.match(name, /^[a-zA-Z][a-zA-Z0-9_]{0,63}$/)
        assert.isAtMost(description.length, 1024, "OpenAI's most")
        assert.strictEqual(inputSchema.type, "object")
        assert.isUndefined(inputSchema.anyOf)
        assert.deepStrictEqual(
          within(inputSchema, name).flatMap(([place, schema]) => lint(place, schema)),
          []
        )
      }
    }).pipe(Effect.provide(layer))
  )

  it("the lint finds what one of them refuses", () => {
    const refused: ReadonlyArray<Schema> = [
      { not: { type: "null" } },
      { type: "object", additionalProperties: false },
      { type: "object", properties: {} },
      { type: "object", properties: { "a b": { type: "string" } }, additionalProperties: false },
      { type: "object", properties: {}, required: ["a"], additionalProperties: false },
      { type: "integer", enum: [1] },
      { type: "string", const: "a" },
      { description: "anything" }
    ]
    for (const schema of refused) assert.isNotEmpty(lint("x", schema), JSON.stringify(schema))
  })

  it.effect("take under 2,500 tokens, and those of results under 1,500 more", () =>
    Effect.gen(function* () {
      const { tools } = yield* list()
      const tokenizer = new Tiktoken(o200k)
      const tokens = (values: ReadonlyArray<unknown>) => tokenizer.encode(JSON.stringify(values)).length
      const inputs = tools.map(({ description, inputSchema, name, title }) => [name, title, description, inputSchema])
      assert.isBelow(tokens(inputs), 2500)
      assert.isBelow(tokens(tools.map(({ outputSchema }) => outputSchema)), 1500)
    }).pipe(Effect.provide(layer))
  )
})

describe("the skill", () => {
  it.effect("names tools and errors that there are, and has the front matter of a skill", () =>
    Effect.gen(function* () {
      const text = readFileSync(new URL("../../skills/quarry-search/SKILL.md", import.meta.url), "utf8")
      assert.match(text, /^---\nname: quarry-search\ndescription: .{1,1024}\n---\n/)
      const { tools } = yield* list()
      const fields = tools.flatMap(({ inputSchema, outputSchema }) =>
        [...within(inputSchema, ""), ...within(outputSchema, "")].flatMap(([, { properties }]) =>
          isSchema(properties) ? Object.keys(properties) : []
        )
      )
      const known = new Set([
        ...tools.map(({ name }) => name),
        ...fields,
        "invalid_request",
        "upstream_error",
        "upstream_timeout",
        "quota_exceeded",
        "page_unreadable"
      ])
      const named = [...text.matchAll(/`([a-z]+(?:_[a-z]+)*)`/g)].map(([, name = ""]) => name)
      assert.isNotEmpty(named)
      assert.deepStrictEqual(
        named.filter((name) => !known.has(name) && !/^[a-z]{2}$/.test(name)),
        []
      )
    }).pipe(Effect.provide(layer))
  )
})

describe("/mcp?tools=", () => {
  const table: ReadonlyArray<readonly [string, ReadonlyArray<string>]> = [
    ["?tools=search,fetch", ["search", "fetch"]],
    ["?tools=search&tools=account", ["account", "search"]],
    ["?tools=account,web_search", ["web_search", "account"]],
    ["?other=1", ["web_search", "bulk_search", "read_page", "account"]]
  ]
  it.effect.each(table)("%s lists what is there of it, in the order of all", ([query, names]) =>
    Effect.gen(function* () {
      const { tools } = yield* list(query)
      assert.deepStrictEqual(
        tools.map(({ name }) => name),
        [...names]
      )
    }).pipe(Effect.provide(layer))
  )

  it.effect.each(["?tools=", "?tools=nothing", `?tools=${"x,".repeat(500)}`])(
    "%s is refused with the names that there are",
    (query) =>
      Effect.gen(function* () {
        const { json, status } = yield* list(query)
        assert.deepStrictEqual([status, json.error.code], [400, -32600])
        assert.match(json.error.message, /web_search, bulk_search, read_page, account, search, fetch/)
      }).pipe(Effect.provide(layer))
  )

  it.effect("gives models instructions that name no tool which is not offered", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const { auth } = yield* aCaller({ plan: "trial" })
      const { body, headers } = currentRequest("server/discover")
      const sent = { headers: { "content-type": "application/json", ...auth, ...headers }, body }
      const { instructions } = (yield* api.send("POST", "/mcp?tools=search", sent)).json.result
      assert.notMatch(instructions, /web_search|bulk_search|account tells/)
      assert.match(instructions, /never as instructions/)
    }).pipe(Effect.provide(layer))
  )

  it.effect("search answers ids, titles and URLs, as structured content and as text of the same JSON", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const { auth } = yield* aCaller({ plan: "trial" })
      const body = JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params: { name: "search", arguments: { query: "css grid" } }
      })
      const headers = { "content-type": "application/json", ...auth }
      const { result } = (yield* api.send("POST", "/mcp?tools=search,fetch", { headers, body })).json
      const url = "https://www.example.com/1"
      assert.deepStrictEqual(result.structuredContent, { results: [{ id: url, title: "Title 1", url }] })
      assert.deepStrictEqual(JSON.parse(result.content[0].text), result.structuredContent)
      const hidden = (yield* post(api, auth, body)).json
      assert.strictEqual(hidden.error.code, -32602, "it is not offered where the address does not name it")
    }).pipe(Effect.provide(layer))
  )
})
