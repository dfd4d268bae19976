import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { isSecret, keyModes, makeSecret } from "../../src/domain/keys/ApiKey.ts"

/** The documented patterns are what scanners of other people are set up with, so that they are tested as they stand there. */
const page = readFileSync(new URL("../../docs/reference/secret-scanning.md", import.meta.url), "utf8")

const block = (language: string): string =>
  new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, "m").exec(page)?.[1]?.trim() ?? assert.fail(language)

const field = (name: string): string =>
  new RegExp(`^\\| ${name} \\| \`(.*)\` \\|$`, "m").exec(page)?.[1]?.replaceAll("\\|", "|") ?? assert.fail(name)

/** GitHub's anchors, which JavaScript writes otherwise. */
const anchored = (pattern: string): string => pattern.replace("\\A", "^").replace("\\z", "$")

const gitleaksRegex = /^regex = '''(.*)'''$/m.exec(block("toml"))?.[1] ?? assert.fail("no regex")

const patterns = {
  "the pattern": new RegExp(block("regex"), "g"),
  "Gitleaks' rule": new RegExp(gitleaksRegex, "g"),
  "GitHub's pattern": new RegExp(
    `(?<=${anchored(field("Before secret"))})${field("Secret format")}(?=${anchored(field("After secret"))})`,
    "g"
  )
}

const secret = fc
  .tuple(fc.constantFrom(...keyModes), fc.uint8Array({ minLength: 32, maxLength: 32 }))
  .map(([mode, entropy]) => makeSecret(mode, entropy))

/** Places where keys leak. */
const places = [
  (key: string) => key,
  (key: string) => `QUARRY_API_KEY=${key}\n`,
  (key: string) => `{"authorization": "Bearer ${key}"}`,
  (key: string) => `curl -H 'Authorization: Bearer ${key}' 'https://search.example.com/v1/query?query=a'`,
  (key: string) => `https://:${key}@search.example.com/`,
  (key: string) => `const key = \`${key}\`;`,
  (key: string) => `(${key}), ${key}.`
]

describe("docs/reference/secret-scanning.md", () => {
  for (const [name, pattern] of Object.entries(patterns)) {
    it(`${name} finds every key, whole, wherever it stands`, () => {
      fc.assert(
        fc.property(secret, (key) => {
          for (const place of places) {
            const found = place(key).match(pattern)
            assert.isNotNull(found, place(key))
            for (const text of found ?? []) assert.strictEqual(text, key)
          }
        })
      )
    })

    it(`${name} finds no longer or shorter text`, () => {
      fc.assert(
        fc.property(secret, (key) => {
          for (const text of [`${key}0`, `x${key}`, key.slice(0, -1), key.replace("sk_", "pk_"), `${key}_1`]) {
            assert.isNull(text.match(pattern), text)
          }
        })
      )
    })
  }

  it("Gitleaks reads a file for the rule where it has one of the rule's keywords", () => {
    const keywords = /^keywords = (\[.*\])$/m.exec(block("toml"))?.[1] ?? assert.fail("no keywords")
    assert.sameMembers(
      JSON.parse(keywords),
      keyModes.map((mode) => `sk_${mode}_`)
    )
  })

  it("the program knows keys by their checksum, as the server does", async () => {
    const { isQuarryKey }: { readonly isQuarryKey: (text: string) => boolean } = await import(
      `data:text/javascript,${encodeURIComponent(block("js"))}`
    )
    const character = fc.constantFrom(..."0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_")
    fc.assert(
      fc.property(secret, fc.nat({ max: 56 }), character, (key, at, other) => {
        assert.isTrue(isQuarryKey(key))
        const changed = key.slice(0, at) + other + key.slice(at + 1)
        assert.strictEqual(isQuarryKey(changed), isSecret(changed), changed)
        assert.strictEqual(isQuarryKey(changed), changed === key)
      })
    )
    for (const text of ["", "sk_live_", `sk_test_${"0".repeat(49)}`]) assert.isFalse(isQuarryKey(text))
  })
})
