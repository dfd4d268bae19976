import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import fc from "fast-check"
import { type PageCopy, toPageResult } from "../../../src/domain/pages/PageBody.ts"
import { type PageRequest, parsePageParameters } from "../../../src/domain/pages/PageRequest.ts"
import { parsePages } from "../../../src/domain/pages/PagesRequest.ts"

const copyOf = (text: string): PageCopy => ({
  finalUrl: "https://www.example.org/b",
  fetchedAt: 1_793_000_000_000,
  bytes: 1,
  page: {
    title: null,
    description: null,
    author: null,
    siteName: null,
    published: null,
    language: null,
    mediaType: "text/html",
    markdown: text,
    text: `text ${text}`,
    links: [{ url: "https://www.example.org/c", text: "c" }]
  }
})

const request: PageRequest = {
  url: "https://example.org/a",
  format: "markdown",
  start: 0,
  maxChars: 10,
  withLinks: false,
  maxAgeSeconds: undefined,
  source: undefined
}

describe("the content of a page", () => {
  it("R58: parts that follow each other are the whole text, and none splits a character", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 40 }), fc.integer({ min: 1, max: 7 }), (text, maxChars) => {
        let whole = ""
        let isTruncated = true
        for (let start = 0; isTruncated; start += maxChars) {
          const part = toPageResult("pag_1", { ...request, start, maxChars }, copyOf(text))
          assert.isTrue(part.content.isWellFormed())
          assert.isAtMost(Array.from(part.content).length, maxChars)
          assert.strictEqual(part.characters, Array.from(text).length)
          whole += part.content
          isTruncated = part.truncated
        }
        assert.strictEqual(whole, text)
      })
    )
  })

  it("R58: a start behind the end is an empty part, and format and links are those asked for", () => {
    const end = toPageResult("pag_1", { ...request, start: 99 }, copyOf("abc"))
    assert.deepInclude(end, { content: "", start: 99, characters: 3, truncated: false })
    assert.notProperty(end, "links")
    const text = toPageResult("pag_1", { ...request, format: "text", withLinks: true }, copyOf("abc"))
    assert.deepInclude(text, { content: "text abc", url: request.url, final_url: "https://www.example.org/b" })
    assert.lengthOf(text.links ?? [], 1)
    assert.strictEqual(text.fetched_at, "2026-10-26T07:33:20.000Z")
  })
})

const issuesOf = (fields: Readonly<Record<string, unknown>>) =>
  Result.match(parsePageParameters(fields), {
    onSuccess: () => [],
    onFailure: ({ issues }) => issues.map(({ field }) => field)
  })

describe("the parameters of a page", () => {
  it("R58: the fragment is dropped, and defaults are filled in", () => {
    const page = Result.getOrThrow(parsePageParameters({ url: "https://Example.org/a b#c" }))
    assert.deepStrictEqual(page, { ...request, url: "https://example.org/a%20b", maxChars: 50_000 })
  })

  it("R58: every field that is not valid is reported", () => {
    const wrong = { url: "ftp://a/", format: "html", start: "-1", max_chars: "0", links: "1", max_age: "86401" }
    assert.deepStrictEqual(issuesOf(wrong), Object.keys(wrong))
    for (const url of ["", "a", "//a/", "http://", "http://u:p@a/", "http://u@a/", `http://a/${"b".repeat(2_048)}`]) {
      assert.deepStrictEqual(issuesOf({ url }), ["url"], url)
    }
    assert.deepStrictEqual(issuesOf({}), ["url"])
    assert.deepStrictEqual(issuesOf({ url: "http://a/", max_chars: "200001", start: "10000001" }), [
      "start",
      "max_chars"
    ])
  })

  it("R61: a row takes the body's fields where it has none, and a wrong row fails alone", () => {
    const urls = ["http://a/", { url: "http://b/", format: "markdown", start: 1 }, 5, { url: "x" }, "ftp://c/"]
    const rows = Result.getOrThrow(
      parsePages({ urls, format: "text", max_chars: 7, links: true, max_age: 0, source: "s" })
    )
    const given = { format: "text" as const, start: 0, maxChars: 7, withLinks: true, maxAgeSeconds: 0, source: "s" }
    assert.deepStrictEqual(rows.map(Result.getOrUndefined), [
      { ...given, url: "http://a/" },
      { ...given, url: "http://b/", format: "markdown", start: 1 },
      undefined,
      undefined,
      undefined
    ])
    for (const urls of [[], Array(21).fill("http://a/"), "http://a/", undefined]) {
      assert.isTrue(Result.isFailure(parsePages({ urls })))
    }
    assert.isTrue(Result.isFailure(parsePages({ urls: ["http://a/"], max_age: "1" })))
  })
})
