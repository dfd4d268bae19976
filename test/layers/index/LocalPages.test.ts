import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Path, Result, type Scope, Stream } from "effect"
import { type DocumentSource, explainProblem } from "../../../src/layers/index/DocumentSource.ts"
import * as LocalPages from "../../../src/layers/index/LocalPages.ts"

const base = new URL("https://docs.example.org/")

/** A folder with these files, by their paths. */
const folderOf = Effect.fnUntraced(function* (content: Readonly<Record<string, string | Uint8Array>>) {
  const files = yield* FileSystem.FileSystem
  const { dirname, join } = yield* Path.Path
  const folder = yield* files.makeTempDirectoryScoped()
  for (const [path, text] of Object.entries(content)) {
    yield* files.makeDirectory(dirname(join(folder, path)), { recursive: true })
    yield* files.writeFile(join(folder, path), typeof text === "string" ? new TextEncoder().encode(text) : text)
  }
  return folder
})

/** What a source has: the addresses of its documents with their titles, and its problems without the folder's path. */
const read = (source: DocumentSource, folder: string) =>
  Effect.map(Stream.runCollect(source.documents), (all) => ({
    titles: Object.fromEntries(
      all.flatMap((each) => (Result.isSuccess(each) ? [[each.success.url, each.success.title]] : []))
    ),
    problems: all.flatMap((each) =>
      Result.isFailure(each) ? [explainProblem(each.failure).replaceAll(`${folder}/`, "")] : []
    )
  }))

const live = <E>(name: string, test: Effect.Effect<void, E, NodeServices.NodeServices | Scope.Scope>) =>
  it.effect(name, () => Effect.provide(test, NodeServices.layer))

const page = (title: string) => `<title>${title}</title><p>Words.</p>`

describe("a folder", () => {
  live(
    "has a document for each HTML and Markdown file, and a problem for each file without a page",
    Effect.gen(function* () {
      const folder = yield* folderOf({
        "index.html": page("Start"),
        "guide/setup.md": "# Set up\n",
        "guide/README.md": "# Guide\n",
        "guide/first-steps.md": "no heading\n",
        "guide/front.md": "---\na: [\n---\n# A\n",
        "big.html": "x".repeat(5_000_001),
        "image.png": "no page",
        ".hidden/a.html": page("Hidden"),
        "node_modules/a/README.md": "# Package\n"
      })
      const source = yield* LocalPages.openFolder(folder, base)
      const { problems, titles } = yield* read(source, folder)
      assert.deepStrictEqual(titles, {
        "https://docs.example.org/guide/": "Guide",
        "https://docs.example.org/guide/first-steps": "first steps",
        "https://docs.example.org/guide/setup": "Set up",
        "https://docs.example.org/": "Start"
      })
      assert.strictEqual(problems.length, 2)
      assert.strictEqual(problems[0], "big.html: larger than 5000000 bytes")
      assert.match(problems[1] ?? "", /^guide\/front\.md line \d: front matter: /)
      assert.strictEqual(yield* source.share, 1)
    })
  )

  live(
    "leaves symbolic links out, which may lead round in a circle",
    Effect.gen(function* () {
      const files = yield* FileSystem.FileSystem
      const folder = yield* folderOf({ "a.html": page("A") })
      yield* files.symlink(folder, `${folder}/again`)
      const { titles } = yield* read(yield* LocalPages.openFolder(folder, base), folder)
      assert.deepStrictEqual(Object.values(titles), ["A"])
    })
  )

  live(
    "has the address that a page names as its own, if it is absolute, and the encoding that it names",
    Effect.gen(function* () {
      const link = (href: string) => `<link rel="canonical" href="${href}">`
      const folder = yield* folderOf({
        "a.html": page("A") + link("https://www.example.org/a"),
        "b.html": page("B") + link("/b"),
        "c.html": Uint8Array.from([...new TextEncoder().encode('<meta charset="latin1"><title>Caf'), 0xe9])
      })
      const { titles } = yield* read(yield* LocalPages.openFolder(folder, base), folder)
      assert.deepStrictEqual(titles, {
        "https://www.example.org/a": "A",
        "https://docs.example.org/b.html": "B",
        "https://docs.example.org/c.html": "Café"
      })
    })
  )

  live(
    "without a page is an error, and not an empty source, which would remove everything with --replace",
    Effect.gen(function* () {
      const folder = yield* folderOf({ "a.txt": "" })
      const source = yield* LocalPages.openFolder(folder, base)
      const failure = yield* Effect.flip(Stream.runDrain(source.documents))
      assert.match(failure.message, /has no HTML or Markdown files/)
    })
  )
})

describe("a sitemap", () => {
  const sitemapOf = (...addresses: ReadonlyArray<string>) =>
    `<urlset>\n${addresses.map((address) => `<url><loc>${address}</loc></url>`).join("\n")}\n</urlset>`

  live(
    "has the documents of its addresses, found in its folder, and a problem for each without a file",
    Effect.gen(function* () {
      const folder = yield* folderOf({
        "sitemap.xml": sitemapOf(
          "https://docs.example.org/",
          "https://docs.example.org/guide/setup",
          "https://docs.example.org/gone",
          "https://other.example.org/a",
          "nowhere"
        ),
        "index.html": page("Start"),
        "guide/setup.md": "# Set up\n",
        "not-listed.html": page("Not listed")
      })
      const source = yield* LocalPages.openSitemap({ sitemap: `${folder}/sitemap.xml`, folder, base: undefined })
      const { problems, titles } = yield* read(source, folder)
      assert.deepStrictEqual(Object.values(titles), ["Start", "Set up"])
      assert.deepStrictEqual(problems, [
        `sitemap.xml line 4: https://docs.example.org/gone has no file in ${folder}`,
        "sitemap.xml line 5: https://other.example.org/a is not below https://docs.example.org/",
        "sitemap.xml line 6: nowhere is not an absolute address"
      ])
    })
  )

  live(
    "without addresses, or of sitemaps, is an error",
    Effect.gen(function* () {
      const folder = yield* folderOf({ "a.xml": "<urlset/>", "b.xml": "<sitemapindex><sitemap/></sitemapindex>" })
      const failureOf = (name: string) =>
        Effect.flatMap(LocalPages.openSitemap({ sitemap: `${folder}/${name}`, folder, base }), ({ documents }) =>
          Effect.flip(Stream.runDrain(documents))
        )
      assert.match((yield* failureOf("a.xml")).message, /has no URLs/)
      assert.match((yield* failureOf("b.xml")).message, /is a sitemap index/)
      assert.match((yield* failureOf("c.xml")).message, /cannot be read/)
    })
  )
})
