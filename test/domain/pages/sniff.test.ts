import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { readMediaType } from "../../../src/domain/pages/mediaType.ts"
import { sniff } from "../../../src/domain/pages/sniff.ts"

// biome-ignore lint/suspicious/noControlCharactersInRegex: these characters do not occur in text.
const isBinary = /[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]/

const typeOf = (text: string, type: string) => sniff(Buffer.from(text, "latin1"), readMediaType(type))

const png = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
const binary: Readonly<Record<string, string>> = {
  PNG: png,
  JPEG: "\xff\xd8\xff\xe0\0\x10JFIF\0",
  GIF: "GIF89a\x40\x01\xf0\0",
  ZIP: "PK\x03\x04\x14\0\0\0",
  gzip: "\x1f\x8b\x08\0\0\0\0\0",
  MP4: "\0\0\0\x20ftypisom",
  WOFF: "wOFF\0\x01\0\0"
}

describe("R59: the type of a document", () => {
  for (const type of [
    "application/octet-stream",
    "binary/octet-stream",
    "application/force-download",
    "",
    "text/html"
  ]) {
    it(`is PDF by its first bytes, under ${type || "no type"}`, () => {
      assert.strictEqual(typeOf("%PDF-1.7\n\x80\0", type), "application/pdf")
      assert.strictEqual(typeOf("\xef\xbb\xbf\n%PDF-1.4", type), "application/pdf")
    })
  }

  for (const [format, bytes] of Object.entries(binary)) {
    it(`is never text for ${format}`, () => {
      for (const type of ["text/plain", "text/html", "text/markdown", "application/json", ""]) {
        assert.strictEqual(typeOf(bytes, type), "application/octet-stream", type)
      }
    })
  }

  it("is the stated type for text in any charset", () => {
    const types = fc.constantFrom("text/plain", "text/html", "application/json")
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), types, (text, type) => {
        fc.pre(!isBinary.test(text) && !text.trim().startsWith("%PDF-"))
        assert.strictEqual(sniff(Buffer.from(text), readMediaType(type)), type)
        const utf16 = Buffer.from(`\ufeff${text}`, "utf16le")
        assert.strictEqual(sniff(utf16, readMediaType(type)), type)
      })
    )
    assert.strictEqual(typeOf("a\0b\0", "text/plain; charset=UTF-16LE"), "text/plain")
    assert.strictEqual(typeOf("\x1b$B8l\x1b(B", "text/plain; charset=iso-2022-jp"), "text/plain")
  })

  it("stays HTML when a control character comes later", () => {
    assert.strictEqual(typeOf("<!doctype html><title>a</title>\x08", "text/html"), "text/html")
  })

  it("is guessed only where the server states none", () => {
    assert.strictEqual(typeOf("<!doctype html><p>a", ""), "text/html")
    assert.strictEqual(typeOf("<?xml version='1.0'?><rss/>", "*/*"), "application/xml")
    assert.strictEqual(typeOf("plain", "unknown/unknown"), "text/plain")
    assert.strictEqual(typeOf("plain", "application/octet-stream"), "application/octet-stream")
  })
})
