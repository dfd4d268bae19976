import { existsSync, readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { makeFull, makeIndex } from "../../scripts/llms.ts"
import { statuses } from "../../src/http/errors.ts"

const root = new URL("../../", import.meta.url)

const documents = [
  "",
  "docs/",
  "docs/guides/clients/",
  "docs/internals/",
  "docs/internals/decisions/",
  "docs/internals/design/",
  "docs/guides/",
  "docs/operate/",
  "docs/reference/",
  "otel/",
  "bench/",
  "data/",
  "clients/",
  "clients/python/",
  "clients/typescript/",
  "examples/"
].flatMap((folder) =>
  readdirSync(fileURLToPath(new URL(folder, root)))
    .filter((name) => name.endsWith(".md"))
    .map((name) => new URL(folder + name, root))
)

/** The anchors of a document: those that it names, and those that GitHub makes of its headings. */
const anchorsOf = (document: URL): ReadonlySet<string> => {
  const text = readFileSync(document, "utf8")
  const named = Array.from(text.matchAll(/<a id="([^"]+)">/g), ([, id = ""]) => id)
  const headings = Array.from(text.matchAll(/^#+ (.*)$/gm), ([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-")
  )
  return new Set([...named, ...headings])
}

const leadsSomewhere = (from: URL, link: string): boolean => {
  const target = new URL(link, from)
  const anchor = target.hash.slice(1)
  target.hash = ""
  return existsSync(target) && (anchor === "" || anchorsOf(target).has(anchor))
}

describe("the documents", () => {
  it("have no link to a file or an anchor that is not there", () => {
    const broken = documents.flatMap((document) =>
      Array.from(readFileSync(document, "utf8").matchAll(/\]\((?!https?:)([^)\s]+)\)/g), ([, link = ""]) => link)
        .filter((link) => !leadsSomewhere(document, link))
        .map((link) => `${document.pathname.slice(root.pathname.length)}: ${link}`)
    )
    assert.deepStrictEqual(broken, [])
  })

  it("are all listed in docs/README.md, but for designs and decisions, which have lists of their own", () => {
    const index = readFileSync(new URL("docs/README.md", root), "utf8")
    const listed = new Set(
      Array.from(
        index.matchAll(/\]\((?!https?:)([^)#\s]+)/g),
        ([, link = ""]) => new URL(link, new URL("docs/", root)).href
      )
    )
    const missing = documents
      .map(({ href }) => href)
      .filter(
        (href) =>
          /\/docs\/(?:guides\/|internals\/|operate\/|reference\/)?[^/]+\.md$/.test(href) &&
          !href.endsWith("/docs/README.md")
      )
      .filter((href) => !listed.has(href))
    assert.deepStrictEqual(missing, [])
  })

  it("have at most 20 entries in a folder", () => {
    const folders = documents.map((document) => new URL(".", document)).filter(({ href }) => href.includes("/docs/"))
    for (const folder of folders) assert.isAtMost(readdirSync(fileURLToPath(folder)).length, 20, folder.href)
  })

  it("have a README that fits three screens", () => {
    assert.isAtMost(readFileSync(new URL("README.md", root), "utf8").trimEnd().split("\n").length, 150)
  })

  it("are in llms.txt and llms-full.txt as they are now (if not: npm run llms)", () => {
    assert.strictEqual(readFileSync(new URL("llms.txt", root), "utf8"), makeIndex())
    assert.strictEqual(readFileSync(new URL("llms-full.txt", root), "utf8"), makeFull())
  })

  it("name the cause and the cure of every error code", () => {
    const page = readFileSync(new URL("docs/reference/errors.md", root), "utf8")
    const described: Array<[unknown, number]> = Array.from(
      page.matchAll(/^\| `(\w+)` \| (\d+) \|/gm),
      ([, code, status]): [unknown, number] => [code, Number(status)]
    )
    const codes = Object.entries(statuses)
    assert.sameDeepMembers(described, codes)
  })
})

describe("docs/internals/tables.md", () => {
  it("says what each table of the schema is for", () => {
    const folder = new URL("src/layers/sql/schema/", root)
    const schema = readdirSync(fileURLToPath(folder))
      .filter((name) => name.endsWith(".sql"))
      .map((name) => readFileSync(new URL(name, folder), "utf8"))
      .join("\n")
    const partitions = new Set(Array.from(schema.matchAll(/create table (\w+) partition of/g), ([, name = ""]) => name))
    const tables = Array.from(schema.matchAll(/create (?:unlogged )?table (\w+)/g), ([, name = ""]) => name)
    const page = readFileSync(new URL("docs/internals/tables.md", root), "utf8")
    assert.isAbove(tables.length, 40)
    assert.deepStrictEqual(
      tables.filter((name) => !partitions.has(name) && !page.includes(`\`${name}\``)),
      []
    )
  })
})
