import { execFileSync } from "node:child_process"
import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { queryText } from "../../../src/dashboard/api/client.ts"
import {
  bulkBody,
  type Draft,
  defaultLocale,
  draftOf,
  draftQuery,
  fitsAddress,
  geos,
  optionNames,
  readDraft,
  searchQuery,
  targetRules,
  targets,
  withTarget
} from "../../../src/dashboard/search/draft.ts"
import { languages, snippetsOf } from "../../../src/dashboard/search/snippets.ts"
import * as SearchOptions from "../../../src/domain/options/SearchOptions.ts"
import * as Geo from "../../../src/domain/search/Geo.ts"
import * as Target from "../../../src/domain/search/Target.ts"

const origin = "https://search.example.com"

const aDraft = fc.record({
  mode: fc.constantFrom("single", "bulk", "page"),
  query: fc.string({ unit: "binary" }),
  queries: fc.array(fc.string({ unit: "grapheme" }), { maxLength: 60 }).map((lines) => lines.join("\n")),
  urls: fc.array(fc.webUrl(), { maxLength: 25 }).map((lines) => lines.join("\n")),
  format: fc.constantFrom("markdown", "text"),
  links: fc.constantFrom("false", "true"),
  target: fc.constantFrom(...targets, "other"),
  geo: fc.constantFrom("us", "de", "x"),
  locale: fc.constantFrom("", "de-de"),
  page: fc.constantFrom("1", "2", "x"),
  num: fc.constantFrom("10", "20", "x"),
  safe: fc.constantFrom("off", "strict"),
  freshness: fc.constantFrom("", "week"),
  after: fc.constantFrom("", "2026-01-31"),
  before: fc.constantFrom("", "2026-02-28"),
  include_domains: fc.constantFrom("", "example.org, docs.example.org/guide"),
  exclude_domains: fc.constantFrom("", "example.com"),
  topic: fc.constantFrom("web", "news")
}) satisfies fc.Arbitrary<Draft>

describe("what the playground knows", () => {
  it("is what the API knows: targets and what they take, countries and their locales", () => {
    assert.deepStrictEqual(targets, [...Target.targets])
    for (const target of Target.targets) {
      const { highPageIsInvalid: _, ...rules } = Target.targetRules[target]
      assert.deepStrictEqual(targetRules[target], rules)
    }
    assert.deepStrictEqual(geos, Geo.geos)
    assert.deepStrictEqual(optionNames, SearchOptions.optionNames)
    for (const geo of geos) assert.strictEqual(defaultLocale(geo), Geo.defaultLocale(geo))
    assert.strictEqual(defaultLocale("no country"), "")
  })

  it("R7: a change of the target takes back what that target does not serve", () => {
    fc.assert(
      fc.property(aDraft, fc.constantFrom(...Target.targets), (draft, target) => {
        const { num, page, safe } = withTarget(draft, target)
        const rules = Target.targetRules[target]
        assert.isFalse(Number(page) > rules.maxPage || Number(num) > rules.maxNum || (safe !== "off" && !rules.safe))
      })
    )
  })
})

describe("the address of the playground", () => {
  it("holds every draft, and leaves a batch out that is too long for it", () => {
    fc.assert(
      fc.property(aDraft, (draft) => {
        const text = queryText(draftQuery(draft))
        const wellFormed = { ...draft, query: draft.query.toWellFormed(), queries: draft.queries.toWellFormed() }
        const read = readDraft(new URLSearchParams(text))
        assert.deepStrictEqual(read, fitsAddress(draft) ? wellFormed : { ...wellFormed, queries: "", urls: "" })
      })
    )
    const long = { ...readDraft(new URLSearchParams()), queries: "many words\n".repeat(2_000) }
    assert.isFalse(fitsAddress(long))
    assert.strictEqual(readDraft(new URLSearchParams(queryText(draftQuery(long)))).queries, "")
  })
})

describe("R62: the options of a draft", () => {
  const asked = {
    freshness: "week",
    include_domains: "example.org,  docs.example.org/guide ,",
    exclude_domains: "",
    topic: "news"
  }
  const draft = readDraft(new URLSearchParams({ query: "a", queries: "a\nb", ...asked }))

  it("are text in a query string, and lists in a body", () => {
    const shared = { freshness: "week", topic: "news" } as const
    const domains = ["example.org", "docs.example.org/guide"]
    assert.deepStrictEqual(searchQuery(draft), { query: "a", ...shared, include_domains: domains.join(",") })
    assert.deepStrictEqual(bulkBody({ ...draft, mode: "bulk" }), {
      queries: ["a", "b"],
      ...shared,
      include_domains: domains
    })
    assert.deepStrictEqual(searchQuery({ ...draft, include_domains: " , ", topic: "web", freshness: "" }), {
      query: "a"
    })
  })

  it("come back from a log entry", () => {
    const options = {
      freshness: "week",
      include_domains: ["example.org", "docs.example.org/guide"],
      topic: "news"
    } as const
    const entry = { kind: "search", query: "a", target: "alpha_search", geo: "us", locale: "en-us" } as const
    const logged = draftOf({ ...entry, page: 1, num: 10, safe: "off", options })
    assert.deepStrictEqual(searchQuery(logged), searchQuery(draft))
  })

  it("are in the code of every language, for one search and for a batch", () => {
    for (const mode of ["single", "bulk"] as const)
      for (const { value: language } of languages) {
        const text = snippetsOf({ ...draft, mode }, language, origin)
          .map(({ text }) => text)
          .join("\n")
        for (const value of ["freshness", "week", "include_domains", "docs.example.org/guide", "topic", "news"])
          assert.include(text, value, `${language} ${mode}`)
      }
  })
})

describe("the code of a search", () => {
  const hostile = `it's "quoted" $HOME \`id\` \\ \${x} {y} % ü 漢\nline`

  it("gives the shell's curl every parameter unchanged, with any characters", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) => {
        const draft = { ...readDraft(new URLSearchParams()), query: `${hostile}${text.replaceAll("\0", "")}`, num: "5" }
        const [snippet] = snippetsOf(draft, "curl", origin)
        const script = `curl() { printf '%s\\0' "$@"; }\n${snippet?.text}`
        const args = execFileSync("sh", ["-c", script], { encoding: "utf8", env: { QUARRY_API_KEY: "secret" } })
        const data = Object.entries(searchQuery(draft)).flatMap(([name, value]) => [
          "--data-urlencode",
          `${name}=${value}`
        ])
        const head = ["--get", `${origin}/v1/query`, "-H", "Authorization: Bearer secret"]
        assert.deepStrictEqual(args.split("\0").slice(0, -1), [...head, ...data])
      }),
      { numRuns: 20 }
    )
  })

  it("names no default and no secret", () => {
    const draft = readDraft(new URLSearchParams({ query: "http caching" }))
    for (const { value: language } of languages) {
      const text = snippetsOf(draft, language, origin)
        .map(({ text }) => text)
        .join("\n")
      assert.include(text, "http caching")
      assert.include(text, "QUARRY_API_KEY")
      assert.notMatch(text, /alpha_search|sk_live|"num"/)
    }
  })
})
