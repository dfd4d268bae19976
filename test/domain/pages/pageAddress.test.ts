import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { addressOf, baseOf, filesOf, isPage, titleOf } from "../../../src/domain/pages/pageAddress.ts"

const base = new URL("https://docs.example.org/manual/")

/** Names that a file system allows. */
const name = fc
  .string({ minLength: 1, unit: "grapheme" })
  .filter((text) => text.isWellFormed() && !/[/\\\0]/.test(text) && !/^\.+$/.test(text))

const page = fc
  .tuple(fc.array(name, { maxLength: 3 }), name, fc.constantFrom(".html", ".htm", ".md", ".markdown"))
  .map(([folders, file, extension]) => [...folders, `${file}${extension}`].join("/"))

describe("addresses of files", () => {
  it.each([
    ["index.html", "https://docs.example.org/manual/"],
    ["guide/index.html", "https://docs.example.org/manual/guide/"],
    ["guide/README.md", "https://docs.example.org/manual/guide/"],
    ["guide/setup.md", "https://docs.example.org/manual/guide/setup"],
    ["guide/setup.html", "https://docs.example.org/manual/guide/setup.html"],
    ["a b/ü?.md", "https://docs.example.org/manual/a%20b/%C3%BC%3F"]
  ])("%s is published at %s", (path, address) => {
    assert.strictEqual(addressOf(path, base), address)
  })

  it.each([
    ["", "index.html"],
    ["guide/", "guide/index.html"],
    ["guide", "guide.html"],
    ["guide.html", "guide.html"],
    ["guide.md", "guide.md"]
  ])("%s is looked for first in %s", (path, file) => {
    assert.strictEqual(filesOf(new URL(path, base), base)[0], file)
  })

  it("the file of an address is among those that it is looked for in", () => {
    fc.assert(
      fc.property(page, (path) => {
        assert.include(filesOf(new URL(addressOf(path, base)), base), path)
      })
    )
  })

  it("no address leads out of the folder", () => {
    const dots = fc.array(fc.constantFrom("..", ".", "%2e%2e", "%2F", "%5c", "%00", "a", "/", "..%2f"), {
      maxLength: 8
    })
    fc.assert(
      fc.property(dots, fc.webPath(), (parts, path) => {
        for (const file of filesOf(new URL(`${base.href}${parts.join("/")}${path}`), base)) {
          assert.notMatch(file, /^\/|(^|\/)\.\.(\/|$)|\\|\0/)
          assert.isTrue(isPage(file))
        }
      })
    )
  })

  it("an address elsewhere has no file", () => {
    for (const address of [
      "https://docs.example.org/",
      "https://other.example.org/manual/",
      "http://docs.example.org/manual/a"
    ]) {
      assert.deepStrictEqual(filesOf(new URL(address), base), [])
    }
  })

  it.each([
    ["https://a.example/guide/first-steps.html", "first steps"],
    ["https://a.example/guide/set_up/", "set up"],
    ["https://a.example/caf%C3%A9", "café"],
    ["https://a.example/100%", "100%"],
    ["https://a.example/", "a.example"],
    ["https://a.example/-.html", "a.example"]
  ])("the title of %s is %s where the page has none", (address, title) => {
    assert.strictEqual(titleOf(address), title)
  })

  it("a base ends with a slash, and is an http(s) address without query and fragment", () => {
    assert.strictEqual(baseOf("https://example.org/docs")?.href, "https://example.org/docs/")
    for (const text of ["docs", "ftp://example.org/", "https://example.org/?a", "https://example.org/#a"]) {
      assert.isUndefined(baseOf(text), text)
    }
  })
})
