import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import fc from "fast-check"
import { missingAt, parsePath, valueAt } from "../../../src/domain/providers/JsonPath.ts"
import { fill, fillAddress, fillJson, parseTemplate, placeholders } from "../../../src/domain/providers/Template.ts"

const template = (text: string) => Result.getOrThrow(parseTemplate(text))

const queryIs = (query: string) => (part: { readonly name: string }) => (part.name === "query" ? query : undefined)

describe("R86: templates", () => {
  it("any text without braces is itself", () => {
    fc.assert(
      fc.property(
        fc.string().map((text) => text.replaceAll(/[{}]/g, "")),
        (text) => {
          assert.strictEqual(fill(template(text), queryIs("")) ?? "", text)
        }
      )
    )
  })

  it("a word in braces that is not a placeholder is named", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[A-Za-z_.-]{1,12}$/), (word) => {
        const parsed = parseTemplate(`a{${word}}b`)
        if (placeholders.some((name) => name === word)) assert.isTrue(Result.isSuccess(parsed))
        else assert.deepStrictEqual(parsed, Result.fail(`{${word}}`))
      })
    )
  })

  it("a query never changes host, path depth or query string of an address", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", minLength: 1 }), (query) => {
        const address = fillAddress(template("https://example.test/a/{query}/b"), queryIs(query))
        if (address === undefined) return assert.include([".", ".."], query)
        const url = new URL(address)
        assert.deepStrictEqual([url.host, url.search, url.hash], ["example.test", "", ""])
        assert.strictEqual(url.pathname.split("/").length, 4)
        assert.strictEqual(decodeURIComponent(url.pathname), `/a/${query}/b`)
      })
    )
  })

  it("braces in a value stay text", () => {
    assert.strictEqual(fill(template("x {query}"), queryIs("{apiKey} {query}")), "x {apiKey} {query}")
  })

  it("leaves out lists and objects of which nothing is left, and keeps empty ones", () => {
    const leaf = { _tag: "template", template: template("{geo}") } as const
    const body = {
      _tag: "object",
      members: [
        ["gone", { _tag: "object", members: [["deep", { _tag: "list", items: [leaf] }]] }],
        ["kept", { _tag: "list", items: [] }],
        ["query", { _tag: "template", template: template("{query}") }]
      ]
    } as const
    assert.deepStrictEqual(fillJson(body, queryIs("q")), { kept: [], query: "q" })
  })
})

describe("R86: dotted paths", () => {
  const names = fc.array(fc.stringMatching(/^[a-z@][a-z_-]{0,7}$/), { minLength: 1, maxLength: 5 })

  it("find the value at a place, and say how far a longer path leads", () => {
    fc.assert(
      fc.property(names, fc.integer(), (path, value) => {
        const json = path.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value)
        assert.deepStrictEqual(parsePath(path.join(".")), path)
        assert.strictEqual(valueAt(json, path), value)
        assert.deepStrictEqual(missingAt(json, [...path.slice(0, -1), "missing name"]), {
          found: path.slice(0, -1).join("."),
          members: path.slice(-1)
        })
      })
    )
  })

  it("find nothing that is not in the JSON itself", () => {
    for (const path of ["length", "constructor.name", "__proto__", "0.length"])
      assert.isUndefined(valueAt(["a"], parsePath(path) ?? assert.fail(path)))
  })

  it("are not expressions", () => {
    for (const text of ["$.a", "a[0]", "a..b", ".a", "a.", "a.*", "a b.c ", "f(x)", "{a}", "a?"])
      assert.isUndefined(parsePath(text), text)
  })
})
