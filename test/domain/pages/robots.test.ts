import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { allowsPage, parseRobots } from "../../../src/domain/pages/robots.ts"

const allows = (text: string, path: string): boolean =>
  allowsPage(parseRobots(text), new URL(path, "https://www.example.org"))

/** The words of a pattern and of a path, so that many of both match. */
const piece = fc.constantFrom("a", "b", "ab", "/", "ä", "%41", "?x=")
const path = fc.array(piece, { maxLength: 12 }).map((pieces) => `/p${pieces.join("")}`)
const pattern = fc
  .tuple(fc.array(fc.oneof(piece, fc.constant("*")), { maxLength: 8 }), fc.constantFrom("", "$"))
  .map(([pieces, end]) => `/p${pieces.join("")}${end}`)

/** A pattern as a regular expression, on text that is encoded as URLs are. */
const expressionOf = (text: string): RegExp => {
  const encoded = text.replaceAll("ä", "%C3%A4").replaceAll("%41", "A")
  const isAnchored = encoded.endsWith("$")
  const source = (isAnchored ? encoded.slice(0, -1) : encoded).replaceAll(/[.?]/g, "\\$&").replaceAll("*", ".*")
  return new RegExp(`^${source}${isAnchored ? "$" : ""}`)
}

describe("R60: robots.txt by RFC 9309", () => {
  it("R60: a pattern matches what its wildcards say", () => {
    fc.assert(
      fc.property(pattern, path, (pattern, path) => {
        const url = new URL(path, "https://www.example.org")
        const written = `${url.pathname}${url.search}`.replaceAll("%41", "A")
        assert.strictEqual(allows(`User-agent: *\nDisallow: ${pattern}`, path), !expressionOf(pattern).test(written))
      })
    )
  })

  it("R60: the longest rule decides in any order, and an allowing rule wins a tie", () => {
    const rules = ["Disallow: /", "Allow: /a", "Disallow: /a/b", "Allow: /a/b/c", "Disallow: /t", "Allow: /t"]
    fc.assert(
      fc.property(fc.shuffledSubarray(rules, { minLength: rules.length }), (lines) => {
        const text = ["user-agent: *", ...lines].join("\n")
        assert.deepStrictEqual(
          ["/x", "/a", "/a/b", "/a/b/c", "/t"].map((path) => allows(text, path)),
          [false, true, false, true, true]
        )
      })
    )
  })

  it("R60: the groups that name Quarry are its rules, else those for all", () => {
    const text =
      "User-agent: *\nDisallow: /\n\nUser-agent: other\nUser-agent: QUARRY/1.0\nDisallow: /a\n\nUser-agent: quarry\nDisallow: /b"
    assert.deepStrictEqual(
      ["/", "/a", "/b", "/c"].map((path) => allows(text, path)),
      [true, false, false, true]
    )
    assert.isFalse(allows("User-agent: other\nDisallow: /a\nUser-agent: *\nDisallow: /", "/x"))
    assert.isTrue(allows("User-agent: other\nDisallow: /", "/x"))
  })

  it("R60: an empty Disallow, a rule without a group, comments and other lines disallow nothing", () => {
    for (const text of [
      "User-agent: *\nDisallow:",
      "Disallow: /",
      "User-agent: *\nDisallow: # /",
      "# User-agent: *\nDisallow: /",
      "<html>User-agent: *</html>",
      "User-agent: *\nCrawl-delay: 1\nSitemap: https://a/",
      ""
    ]) {
      assert.isTrue(allows(text, "/x"), text)
    }
    assert.isTrue(allows("User-agent: *\nDisallow: /", "/robots.txt"))
  })

  it("R60: no text breaks the parser, and each line's end counts", () => {
    fc.assert(fc.property(fc.string({ unit: "binary" }), path, (text, path) => void allows(text, path)))
    for (const end of ["\n", "\r\n", "\r"]) assert.isFalse(allows(`User-agent: *${end}Disallow: /x`, "/x"))
  })

  it("R70: the cost of a hostile file grows with its length", () => {
    const long = `/${"a".repeat(2_000)}`
    const files = [
      `User-agent: *\n${"Disallow: *a*a*a*a*b\n".repeat(24_000)}`,
      `User-agent: *\nDisallow: *b${"a".repeat(400_000)}`,
      `User-agent: *\n${`Disallow: *b${"a".repeat(900)}\n`.repeat(500)}`,
      `User-agent: *\nDisallow:${" ".repeat(500_000)}x`,
      " ".repeat(500_000)
    ]
    for (const file of files) {
      const startedAt = performance.now()
      allows(file, long)
      assert.isBelow(performance.now() - startedAt, 2_000)
    }
  })

  it("R83: a hop costs the event loop little, for any file and path", () => {
    const wildcards = `User-agent: *\n${"Disallow: /*a*a*a*ab\n".repeat(1_000)}`
    const rules = parseRobots(wildcards)
    const cpuMsOf = (run: () => unknown): number => {
      const before = process.cpuUsage()
      run()
      return process.cpuUsage(before).user / 1000
    }
    const far = new URL(`/${"a".repeat(15_000)}`, "https://www.example.org")
    assert.isFalse(allowsPage(rules, far))
    assert.isTrue(allowsPage(rules, new URL(`/${"a".repeat(900)}`, "https://www.example.org")))
    const files = ["\r".repeat(500_000), "a:\n".repeat(160_000), "user-agent:a\nallow:/\n".repeat(23_000)]
    const costs = [() => allowsPage(rules, far), ...files.map((file) => () => parseRobots(file))].map((run) =>
      Math.min(...[1, 2, 3].map(() => cpuMsOf(run)))
    )
    for (const [index, cost] of costs.entries()) assert.isBelow(cost, 60, `cost ${index}`)
  })
})
