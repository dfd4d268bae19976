import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { readHtml, readMarkdown, readSitemap } from "../../../src/layers/index/PageText.ts"

const html = `<!doctype html>
<html lang="en-GB">
<head>
  <title>Rockets &amp; anvils</title>
  <meta name="description" content="What we sell.">
  <link rel="canonical" href="https://shop.example/rockets">
</head>
<body>
  <nav>Home Contact</nav>
  <main>
    <svg><title>A picture</title></svg>
    <h1>Rockets</h1>
    <p>A <b>rock</b>et flies.<br>An anvil<wbr> falls.</p>
    <ul><li>one</li><li>two</li></ul>
    <script>ignored()</script>
  </main>
  <footer>Imprint</footer>
</body>
</html>`

describe("readHtml", () => {
  it("takes title, headings, description, language, address and the text of the main part", () => {
    assert.deepStrictEqual(readHtml(html), {
      title: "Rockets & anvils",
      headings: "Rockets",
      description: "What we sell.",
      content: "Rockets A rocket flies. An anvil falls. one two",
      language: "en",
      canonical: "https://shop.example/rockets",
      published: undefined
    })
  })

  it("without a title or a description takes the first heading and the first paragraph that is more than a label", () => {
    const text = "The first paragraph that says something about the page."
    const page = readHtml(`<h2>Heading</h2><p>New!</p><p>${text}</p>`)
    assert.deepStrictEqual([page.title, page.description, page.language], ["Heading", text, undefined])
  })

  it("cuts a long description at a word", () => {
    const { description } = readHtml(`<title>t</title><p>${"word ".repeat(200)}</p>`)
    assert.match(description, /^(word )+word…$/)
    assert.isAtMost(description.length, 301)
  })

  it("reads pages that are nested ten thousand deep", () => {
    const { content } = readHtml(`${"<div>".repeat(10_000)}deep`)
    assert.strictEqual(content, "deep")
  })

  it("makes something of any text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) => {
        assert.isString(readHtml(text).content)
        assert.isDefined(readMarkdown(text))
      })
    )
  })
})

describe("readMarkdown", () => {
  it("takes the front matter first, then the page", () => {
    const page = readMarkdown(
      "---\ntitle: 'Set up: now'\nlang: de-AT\n---\n# Ignored\n\nRun `npm i` and **wait** for it to end, then go on.\n"
    )
    assert.deepStrictEqual(page, {
      title: "Set up: now",
      headings: "Ignored",
      description: "Run npm i and wait for it to end, then go on.",
      content: "Ignored Run npm i and wait for it to end, then go on.",
      language: "de",
      canonical: undefined,
      published: undefined
    })
  })

  it("takes the first heading where there is no front matter", () => {
    const page = readMarkdown("Some words.\n\n## Heading *two*\n")
    assert.deepInclude(page, { title: "Heading two", content: "Some words. Heading two" })
  })

  it("names the line of the file where the front matter is not YAML", () => {
    const page = readMarkdown("---\nlang: en\ntitle: [oops\n---\n# A\n")
    assert.deepInclude(page, { line: 3 })
    assert.match("problem" in page ? page.problem : "", /^front matter: [^\n]+$/)
  })
})

describe("the date of a page", () => {
  const publishedOf = (html: string) => readHtml(`<title>t</title>${html}`).published

  it.each([
    [
      `<script type="application/ld+json">{"@type":"Article","datePublished":"2026-01-02T03:04:05+01:00"}</script>
      <time datetime="2020-01-01">`,
      "2026-01-02T02:04:05Z"
    ],
    [`<meta property="article:published_time" content="2026-01-02">`, "2026-01-02"],
    [`<p><time>no date</time><time datetime="2026-01-02T03:04">`, "2026-01-02"],
    [`<script type="application/ld+json">{"datePublished":"soon"}</script>`, undefined],
    ["<p>2026-01-02</p>", undefined]
  ])("%s has the date %s", (html, published) => {
    assert.strictEqual(publishedOf(html), published)
  })

  it("is in the front matter of Markdown", () => {
    const page = readMarkdown("---\ndate: 2026-01-02\n---\n# Title")
    assert.strictEqual("published" in page ? page.published : page.problem, "2026-01-02")
  })
})

describe("readSitemap", () => {
  it("takes each address with its line", () => {
    const xml = `<?xml version="1.0"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
  <url><loc>https://a.example/?a=1&amp;b=2</loc><lastmod>2024-01-01</lastmod></url>
  <url>
    <loc>
      https://a.example/b
    </loc>
  </url>
</urlset>`
    assert.deepStrictEqual(readSitemap(xml), [
      { address: "https://a.example/?a=1&b=2", line: 3 },
      { address: "https://a.example/b", line: 5 }
    ])
  })
})
