import { existsSync, readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"

const root = new URL("../../", import.meta.url)

const documents = [
  "",
  "docs/",
  "docs/clients/",
  "docs/decisions/",
  "docs/design/",
  "docs/operate/",
  "otel/",
  "bench/",
  "data/",
  "clients/",
  "clients/python/",
  "clients/typescript/"
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
})
