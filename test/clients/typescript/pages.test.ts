import { assert, describe, it } from "@effect/vitest"
import { readPage } from "../../../clients/typescript/src/ai.ts"
import type { TestPageAnswer } from "../../../clients/typescript/src/testing/index.ts"
import { collect, errorOf, using } from "./support.ts"

const guide = "https://www.example.org/guide"

const web = (url: string): TestPageAnswer => {
  const { pathname } = new URL(url)
  if (pathname === "/guide") return { title: "Guide", content: "# One\n\nHello 🌍 world", text: "One Hello", links: [] }
  if (pathname === "/never") return "never"
  return pathname === "/private" ? "forbidden" : "not_found"
}

const options = { plan: "growth", page: web } as const

describe("@quarry/client: pages", () => {
  it("a page, what it cost and what is left", () =>
    using(options, async (test) => {
      const quarry = test.client()
      const page = await quarry.page({ url: `${guide}#part`, max_chars: 14, links: true })
      assert.deepInclude(page, {
        url: guide,
        title: "Guide",
        content: "# One\n\nHello 🌍",
        start: 0,
        characters: 20,
        truncated: true
      })
      assert.deepStrictEqual(page.links, [])
      assert.strictEqual((await quarry.page({ url: guide, format: "text" })).content, "One Hello")
      assert.deepInclude(quarry.last, { creditsUsed: 1 })
      assert.deepStrictEqual(
        (await test.chargedPages()).map(({ cached, credits, url }) => [url, credits, cached]),
        [
          [guide, 1, true],
          [guide, 1, false]
        ]
      )
      assert.deepStrictEqual(await test.charged(), [])
    }))

  it("R59: the reason why a page cannot be read, free and after one request", () =>
    using(options, async (test) => {
      const error = await errorOf(test.client().page("https://www.example.org/private"))
      if (error.error !== "page_unreadable") return assert.fail(error.error)
      assert.strictEqual(error.reason, "forbidden")
      assert.strictEqual(error.attempts, 1)
      assert.strictEqual((await test.account()).used, 0)
      const slow = await errorOf(test.clock.run(test.client().page("https://www.example.org/never")))
      assert.deepInclude(slow, { error: "page_unreadable", reason: "timed_out" })
    }))

  it("a batch whose pages fail by themselves", () =>
    using(options, async (test) => {
      const batch = await test.client().pages([guide, { url: "https://www.example.org/gone" }, "mailto:a"])
      assert.deepStrictEqual(
        batch.results.map((row) => (row.status === "ok" ? row.title : [row.error, row.reason])),
        ["Guide", ["page_unreadable", "not_found"], ["invalid_request", undefined]]
      )
      assert.strictEqual((await test.account()).used, 1)
    }))

  it("R46: the lines of a batch of pages, and the credits of its summary", () =>
    using(options, async (test) => {
      const lines = await collect(
        test.client().pagesStream({ urls: [guide, "https://www.example.org/x"], max_chars: 5 })
      )
      assert.deepStrictEqual(
        lines.map(({ type }) => type),
        ["batch", "row", "row", "summary"]
      )
      const [row] = lines.filter((line) => line.type === "row" && line.status === "ok")
      assert.deepInclude(row, { content: "# One", truncated: true })
      assert.deepInclude(lines.at(-1), { succeeded: 1, failed: 1, credits_used: 1 })
    }))

  it("R44: a page whose response is lost is sent again and charged once", () =>
    using(options, async (test) => {
      test.break("lost")
      await test.clock.run(test.client().page(guide))
      assert.strictEqual((await test.account()).used, 1)
    }))

  it("what cannot be a page rejects before any request", () =>
    using(options, async (test) => {
      const quarry = test.client()
      for (const call of [quarry.page(undefined as never), quarry.pages(guide as never)]) {
        assert.instanceOf(await call.catch((error) => error), TypeError)
      }
    }))
})

describe("readPage, with the AI SDK", () => {
  const call = { toolCallId: "1", messages: [], context: undefined }

  it("a model reads a page in parts", () =>
    using(options, async (test) => {
      const tool = readPage(test.client())
      const execute = tool.execute ?? assert.fail("the tool does nothing")
      const first = await execute({ url: guide, max_chars: 14 }, call)
      assert.deepInclude(first, { title: "Guide", url: guide, content: "# One\n\nHello 🌍", next_start: 14 })
      assert.deepInclude(await execute({ url: guide, start: 14 }, call), { content: " world" })
    }))

  it("the second argument overrides the model's for every page", () =>
    using(options, async (test) => {
      const tool = readPage(test.client(), { format: "text", max_chars: 3 })
      const execute = tool.execute ?? assert.fail("the tool does nothing")
      assert.deepInclude(await execute({ url: guide, max_chars: 9 }, call), { content: "One", next_start: 3 })
      assert.notInclude(JSON.stringify(tool.inputSchema), "max_chars")
    }))
})
