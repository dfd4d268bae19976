import { jsonSchema, type Tool, tool } from "ai"
import type { Geo, OrganicResult, SearchParameters } from "./api.ts"
import type { Quarry } from "./client.ts"

/** Parameters of every search of the tools. The model chooses the others, and may choose another country. */
export type ToolDefaults = Omit<SearchParameters, "query" | "page">

export interface WebSearchInput {
  readonly query: string
  readonly geo?: Geo
  readonly num?: number
  readonly page?: number
}

export interface BulkSearchInput {
  readonly queries: ReadonlyArray<string>
  readonly geo?: Geo
  readonly num?: number
}

/** The part of a result that a model reads. */
export type ToolResult = Pick<OrganicResult, "title" | "url" | "snippet">

export type BulkToolResult =
  | { readonly query: string; readonly results: ReadonlyArray<ToolResult> }
  | { readonly query: string; readonly error: string }

/** A type and no interface, because the AI SDK takes an index of tools. */
export type QuarryTools = {
  readonly web_search: Tool<WebSearchInput, ReadonlyArray<ToolResult>>
  readonly bulk_search: Tool<BulkSearchInput, ReadonlyArray<BulkToolResult>>
}

const maxQueries = 50

const query = { type: "string", minLength: 1, maxLength: 400 } as const

const choices = {
  geo: { type: "string", pattern: "^[a-z]{2}$", description: "Country, as in us or de" },
  num: { type: "integer", minimum: 1, maximum: 20, description: "Most results" }
} as const

const forModel = (organic: ReadonlyArray<OrganicResult>): ReadonlyArray<ToolResult> =>
  organic.map(({ snippet, title, url }) => ({ title, url, snippet }))

/**
 * Tools for the AI SDK, which `generateText` and `streamText` take. A search that fails is an error of its tool call,
 * whose message the model gets. The end of the run aborts its searches.
 */
export const quarryTools = (quarry: Quarry, defaults: ToolDefaults = {}): QuarryTools => ({
  web_search: tool({
    description:
      "Searches the web and returns ranked results: title, URL and snippet, and no page contents. Use it for anything " +
      "recent, specific or that needs a source. For several searches at once use bulk_search.",
    inputSchema: jsonSchema<WebSearchInput>({
      type: "object",
      properties: { query, ...choices, page: { type: "integer", minimum: 1, maximum: 5, description: "From 1" } },
      required: ["query"],
      additionalProperties: false
    }),
    execute: async (input, { abortSignal }): Promise<ReadonlyArray<ToolResult>> => {
      const { results } = await quarry.query({ ...defaults, ...input }, { signal: abortSignal })
      return forModel(results.organic)
    }
  }),
  bulk_search: tool({
    description:
      `Runs 1 to ${maxQueries} web searches side by side. Use it instead of several web_search calls. Results come in the ` +
      "order of the queries; a search that fails has an error, and the others are answered all the same.",
    inputSchema: jsonSchema<BulkSearchInput>({
      type: "object",
      properties: { queries: { type: "array", minItems: 1, maxItems: maxQueries, items: query }, ...choices },
      required: ["queries"],
      additionalProperties: false
    }),
    execute: async (input, { abortSignal }): Promise<ReadonlyArray<BulkToolResult>> => {
      const { safe: _, ...fields } = defaults
      const batch = await quarry.bulk({ ...fields, ...input }, { signal: abortSignal })
      return batch.results.map((row, index) => {
        const query = input.queries[index] ?? ""
        return row.status === "ok" ? { query, results: forModel(row.results.organic) } : { query, error: row.message }
      })
    }
  })
})
