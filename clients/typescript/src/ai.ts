import { jsonSchema, type Tool, tool } from "ai"
import type { OrganicResult, SearchParameters } from "./api.ts"
import type { Quarry, SearchInput } from "./client.ts"

export { type FixedPageParameters, type ReadPageInput, type ReadPageResult, readPage } from "./readPage.ts"

/** Parameters of every search of the tools. The model cannot change them; it chooses the other parameters. */
export type FixedParameters = Omit<SearchInput, "query" | "page">

/** The parameters that a model may choose in both tools. */
export interface Choices extends Pick<SearchParameters, "after" | "before" | "freshness" | "geo" | "num" | "topic"> {
  readonly include_domains?: ReadonlyArray<string> | undefined
  readonly exclude_domains?: ReadonlyArray<string> | undefined
}

export interface WebSearchInput extends Choices {
  readonly query: string
  readonly page?: number
}

export interface BulkSearchInput extends Choices {
  readonly queries: ReadonlyArray<string>
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

const domains = { type: "array", maxItems: 20, items: { type: "string" } } as const
const date = { type: "string", pattern: "^[0-9]{4}-[0-9]{2}-[0-9]{2}$" } as const

const choices = {
  geo: { type: "string", pattern: "^[a-z]{2}$", description: "Country, as in us or de" },
  num: { type: "integer", minimum: 1, maximum: 20, description: "Maximum number of results" },
  freshness: {
    enum: ["day", "week", "month", "year"],
    description: "Only results of this last period. Not together with after or before"
  },
  after: { ...date, description: "Only results published on this day (UTC) or later, as in 2026-01-31" },
  before: { ...date, description: "Only results published on this day (UTC) or earlier" },
  include_domains: { ...domains, description: "Only results from these domains and their subdomains" },
  exclude_domains: { ...domains, description: "No results from these domains and their subdomains" },
  topic: { enum: ["web", "news"], description: "web if absent" }
} as const

const dates = ["freshness", "after", "before"]

/** The parameters that are left to the model. A fixed date fixes all of them, because `freshness` excludes the others. */
const choicesBeside = (fixed: FixedParameters) => {
  const names = Object.entries(fixed).flatMap(([name, value]) => (value === undefined ? [] : [name]))
  const taken = new Set(names.some((name) => dates.includes(name)) ? [...names, ...dates] : names)
  return Object.fromEntries(Object.entries(choices).filter(([name]) => !taken.has(name)))
}

const forModel = (organic: ReadonlyArray<OrganicResult>): ReadonlyArray<ToolResult> =>
  organic.map(({ snippet, title, url }) => ({ title, url, snippet }))

const webSearch = (quarry: Quarry, fixed: FixedParameters): QuarryTools["web_search"] =>
  tool({
    description:
      "Searches the web and returns ranked results: title, URL and snippet, and no page contents. Use it for anything " +
      "recent, specific or that needs a source. For several searches at once use bulk_search.",
    inputSchema: jsonSchema<WebSearchInput>({
      type: "object",
      properties: {
        query,
        ...choicesBeside(fixed),
        page: { type: "integer", minimum: 1, maximum: 5, description: "From 1" }
      },
      required: ["query"],
      additionalProperties: false
    }),
    execute: async (input, { abortSignal }): Promise<ReadonlyArray<ToolResult>> => {
      const { results } = await quarry.query({ ...input, ...fixed }, { signal: abortSignal })
      return forModel(results.organic)
    }
  })

const listOf = (domains: string | ReadonlyArray<string> | undefined) =>
  typeof domains === "string" ? domains.split(",") : domains

/** A body has lists where a query string has commas. */
const withLists = ({ exclude_domains, include_domains, ...fixed }: Omit<FixedParameters, "safe">) => ({
  ...fixed,
  ...(include_domains === undefined ? {} : { include_domains: listOf(include_domains) }),
  ...(exclude_domains === undefined ? {} : { exclude_domains: listOf(exclude_domains) })
})

const bulkSearch = (quarry: Quarry, fixed: Omit<FixedParameters, "safe">): QuarryTools["bulk_search"] =>
  tool({
    description:
      `Runs 1 to ${maxQueries} web searches side by side. Use it instead of several web_search calls. Results come in the ` +
      "order of the queries. A search that fails has an error; the others still return results.",
    inputSchema: jsonSchema<BulkSearchInput>({
      type: "object",
      properties: {
        queries: { type: "array", minItems: 1, maxItems: maxQueries, items: query },
        ...choicesBeside(fixed)
      },
      required: ["queries"],
      additionalProperties: false
    }),
    execute: async (input, { abortSignal }): Promise<ReadonlyArray<BulkToolResult>> => {
      const batch = await quarry.bulk({ ...input, ...withLists(fixed) }, { signal: abortSignal })
      return batch.results.map((row, index) => {
        const query = input.queries[index] ?? ""
        return row.status === "ok" ? { query, results: forModel(row.results.organic) } : { query, error: row.message }
      })
    }
  })

/**
 * Tools for the AI SDK, which `generateText` and `streamText` take. A search that fails is an error of its tool call,
 * whose message the model gets. The end of the run aborts its searches. `fixed` holds in every tool: because `/v1/bulk`
 * has no `safe`, a fixed `safe` leaves `bulk_search` out.
 */
export function quarryTools(quarry: Quarry, fixed?: FixedParameters & { readonly safe?: undefined }): QuarryTools
export function quarryTools(quarry: Quarry, fixed: FixedParameters): Pick<QuarryTools, "web_search">
export function quarryTools(
  quarry: Quarry,
  fixed: FixedParameters = {}
): Pick<QuarryTools, "web_search"> & Partial<QuarryTools> {
  const { safe, ...others } = fixed
  const single = { web_search: webSearch(quarry, fixed) }
  return safe === undefined ? { ...single, bulk_search: bulkSearch(quarry, others) } : single
}
