import { assert, describe, it } from "@effect/vitest"
import { generateText, stepCountIs } from "ai"
import { MockLanguageModelV4 } from "ai/test"
import { type QuarryTools, quarryTools } from "../../../clients/typescript/src/ai.ts"
import type { TestSearch } from "../../../clients/typescript/src/testing/index.ts"
import { using } from "./support.ts"

type Generate = NonNullable<ConstructorParameters<typeof MockLanguageModelV4>[0]>["doGenerate"]
type Step = Awaited<ReturnType<Extract<Generate, (...args: never) => unknown>>>

const usage: Step["usage"] = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 }
}

/** A model that calls a tool once and then answers. */
const modelCalling = (toolName: string, input: object) =>
  new MockLanguageModelV4({
    doGenerate: [
      {
        content: [{ type: "tool-call", toolCallId: "call-1", toolName, input: JSON.stringify(input) }],
        finishReason: { unified: "tool-calls", raw: undefined },
        usage,
        warnings: []
      },
      {
        content: [{ type: "text", text: "Done." }],
        finishReason: { unified: "stop", raw: undefined },
        usage,
        warnings: []
      }
    ]
  })

const rows = [{ title: "Title", url: "https://www.example.com/", snippet: "Snippet" }]

const ask = (model: MockLanguageModelV4, tools: Pick<QuarryTools, "web_search">) =>
  generateText({ model, tools, stopWhen: stepCountIs(3), prompt: "Search the web." })

describe("quarryTools, with the AI SDK", () => {
  it("a model searches, reads the results and answers", () =>
    using({ plan: "growth", search: ({ geo, num }) => (geo === "de" && num === 3 ? rows : []) }, async (test) => {
      const model = modelCalling("web_search", { query: "css grid", num: 3 })
      const { steps, text } = await ask(model, quarryTools(test.client(), { geo: "de" }))
      assert.strictEqual(text, "Done.")
      assert.deepStrictEqual(steps[0]?.toolResults[0]?.output, rows)
      assert.include(JSON.stringify(model.doGenerateCalls[1]?.prompt), "https://www.example.com/")
      assert.deepStrictEqual(
        model.doGenerateCalls[0]?.tools?.map(({ name }) => name),
        ["web_search", "bulk_search"]
      )
      assert.lengthOf(await test.charged(), 1)
    }))

  it("a model runs several searches, of which one fails by itself", () =>
    using({ plan: "growth", search: ({ query }) => (query === "b" ? "upstream_error" : rows) }, async (test) => {
      const model = modelCalling("bulk_search", { queries: ["a", "b"] })
      const { steps } = await ask(model, quarryTools(test.client(), { target: "beta_search" }))
      assert.deepStrictEqual(steps[0]?.toolResults[0]?.output, [
        { query: "a", results: rows },
        { query: "b", error: "The search provider could not be reached." }
      ])
    }))

  it("a model cannot change what the second argument fixes, and gets no tool in which it would not hold", async () => {
    const searches: Array<Partial<TestSearch>> = []
    const search = ({ geo, num, safe }: TestSearch) => {
      searches.push({ geo, num, safe })
      return rows
    }
    await using({ plan: "growth", search }, async (test) => {
      const fixed = { geo: "de", num: 5, safe: "strict" } as const
      const model = modelCalling("web_search", { query: "css grid" })
      const tools = quarryTools(test.client(), fixed)
      assert.deepStrictEqual(Object.keys(tools), ["web_search"])
      await ask(model, tools)
      const [offered] = model.doGenerateCalls[0]?.tools ?? []
      if (offered?.type !== "function") return assert.fail("the model was offered no function")
      const searchOptions = ["freshness", "after", "before", "include_domains", "exclude_domains", "topic"]
      assert.sameMembers(Object.keys(offered.inputSchema.properties ?? {}), ["query", "page", ...searchOptions])
      // As a model does that ignores the schema.
      const options = { toolCallId: "1", messages: [], context: undefined }
      const single = tools.web_search.execute ?? assert.fail("the tool does nothing")
      await single({ query: "css", geo: "us", num: 20 }, options)
      const batch =
        quarryTools(test.client(), { geo: "de" }).bulk_search.execute ?? assert.fail("the tool does nothing")
      await batch({ queries: ["a"], geo: "us", num: 20 }, options)
      assert.deepStrictEqual(searches, [fixed, fixed, { geo: "de", num: 20, safe: "off" }])
    })
  })

  it("R62: a model chooses the options of a search, beside those that are fixed", async () => {
    const searches: Array<Partial<TestSearch>> = []
    const search = ({ options }: TestSearch) => {
      searches.push({ options })
      return rows
    }
    await using({ plan: "growth", search }, async (test) => {
      const input = { freshness: "week", include_domains: ["example.com", "example.org"], topic: "news" } as const
      await ask(modelCalling("web_search", { query: "a", ...input }), quarryTools(test.client()))
      await ask(modelCalling("bulk_search", { queries: ["b"], ...input }), quarryTools(test.client()))
      const model = modelCalling("web_search", { query: "c", include_domains: ["example.com"] })
      await ask(model, quarryTools(test.client(), { after: "2026-01-31", exclude_domains: ["docs.example.com"] }))
      const [offered] = model.doGenerateCalls[0]?.tools ?? []
      if (offered?.type !== "function") return assert.fail("the model was offered no function")
      const offeredNames = Object.keys(offered.inputSchema.properties ?? {})
      assert.sameMembers(offeredNames, ["query", "page", "geo", "num", "include_domains", "topic"])
      const chosen = { freshness: "week", includeDomains: ["example.com", "example.org"], topic: "news" } as const
      assert.deepStrictEqual(searches, [
        { options: chosen },
        { options: chosen },
        {
          options: { after: "2026-01-31", includeDomains: ["example.com"], excludeDomains: ["docs.example.com"] }
        }
      ])
    })
  })

  it("a model gets the message of a search that fails, and goes on", () =>
    using({ plan: "custom", quota: 0 }, async (test) => {
      const model = modelCalling("web_search", { query: "a" })
      const { text } = await ask(model, quarryTools(test.client()))
      assert.strictEqual(text, "Done.")
      assert.include(JSON.stringify(model.doGenerateCalls[1]?.prompt), "0 pack credits are left")
    }))
})
