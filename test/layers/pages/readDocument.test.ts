import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { Marked } from "marked"
import type { ParsedPage } from "../../../src/domain/pages/Page.ts"
import { DocumentTooLarge, parseTree, walk } from "../../../src/layers/pages/html/Tree.ts"
import { readDocument } from "../../../src/layers/pages/readDocument.ts"

const url = "https://example.org/docs/page.html"

const reading = (body: string | Uint8Array, contentType: string | undefined = "text/html; charset=utf-8", at = url) =>
  readDocument({ bytes: typeof body === "string" ? new TextEncoder().encode(body) : body, contentType, url: at })

const read = async (...input: Parameters<typeof reading>): Promise<ParsedPage> => {
  const page = await reading(...input)
  assert(typeof page !== "string", `not read: ${page}`)
  return page
}

const bytesOf = (text: string): Uint8Array => Uint8Array.from(text, (character) => character.charCodeAt(0))

describe("hidden text", () => {
  const ways = [
    `<p hidden>SECRET</p>`,
    `<p HIDDEN="">SECRET</p>`,
    `<div aria-hidden="true">SECRET</div>`,
    `<p style="display:none">SECRET</p>`,
    `<p STYLE="color:red; DISPLAY : None !important">SECRET</p>`,
    `<p style="d\\69splay:none">SECRET</p>`,
    `<p style="display/**/:none">SECRET</p>`,
    `<p style="visibility:hidden">SECRET</p>`,
    `<p style="opacity:0">SECRET</p>`,
    `<span style="font-size:0">SECRET</span>`,
    `<span style="font-size:1px">SECRET</span>`,
    `<div style="width:0;height:0;overflow:hidden">SECRET</div>`,
    `<div style="max-height:0;overflow:hidden">SECRET</div>`,
    `<div style="position:absolute;left:-9999px">SECRET</div>`,
    `<div style="text-indent:-9999px">SECRET</div>`,
    `<div style="position:absolute;clip:rect(0,0,0,0)">SECRET</div>`,
    `<div style="clip-path:inset(100%)">SECRET</div>`,
    `<div style="transform:scale(0)">SECRET</div>`,
    `<span style="color:transparent">SECRET</span>`,
    `<span style="color:#fff;background:#fff">SECRET</span>`,
    `<!-- SECRET -->`,
    `<!-- SECRET --!>`,
    `<template>SECRET</template>`,
    `<noscript>SECRET</noscript>`,
    `<script>SECRET</script>`,
    `<textarea>SECRET</textarea>`,
    `<svg><title>SECRET</title></svg>`,
    `<dialog>SECRET</dialog>`,
    `<iframe>SECRET</iframe>`,
    `<img hidden alt="SECRET">`,
    `<span class="sr-only">SECRET</span>`,
    `<style>/* x */ a{color:red} .note, p.x{color:red;display:none}</style><p class="big x">SECRET</p>`,
    `<style>@media screen{#x{position:absolute;left:-9999px}}</style><p id=x>SECRET</p>`,
    `<style>.y{visibility:hidden}</style><p class=y>SECRET</p>`
  ]
  for (const way of ways) {
    it(`R60: is left out: ${way}`, async () => {
      const page = await read(`<title>A</title><main><p>Before.</p>${way}<p>After.</p></main>`)
      assert.strictEqual(page.text, "Before.\n\nAfter.")
      assert.notInclude(JSON.stringify(page), "SECRET")
    })
  }

  it("R60: is not what a sheet hides in print, or shows by a stronger rule", async () => {
    const sheet = "@media print{.a{display:none}} .tab{display:none} .tab.active{display:block} .c:hover{display:none}"
    const page = await read(
      `<style>${sheet}</style><main><p class=a>One</p><p class="tab active">Two</p><p class=c>Three</p></main>`
    )
    assert.strictEqual(page.text, "One\n\nTwo\n\nThree")
  })

  it("R60: is found in Markdown and feeds too", async () => {
    const markdown = await read("# A\n\nText <span hidden>SECRET</span>\n\n<!-- SECRET -->\n", "text/markdown")
    const feed = await read(
      `<rss version="2.0"><channel><title>F</title><item><title>One</title><link>https://example.org/1</link><description>&lt;p&gt;Text&lt;/p&gt;&lt;p style="display:none"&gt;SECRET&lt;/p&gt;</description></item></channel></rss>`,
      "application/rss+xml"
    )
    assert.notInclude(JSON.stringify([markdown, feed]), "SECRET")
  })
})

describe("Markdown", () => {
  it("R60: has headings, lists, tables, code with its language, absolute links and alt texts", async () => {
    const page = await read(`<title>T</title><main><h2>Use</h2><p>See <a href="../guide#x">the <b>guide</b></a>.</p>
      <ol start="3"><li>one<ul><li>deep</li></ul></li><li>two</li></ol>
      <pre><code class="language-js">let a = 1

f()</code></pre>
      <table><tr><th>Name</th><th>Size</th></tr><tr><td>a|b</td><td>1</td></tr></table>
      <blockquote><p>Said.</p></blockquote><p><img src="x.png" alt="A cat"></p></main>`)
    assert.strictEqual(
      page.markdown,
      "## Use\n\nSee [the **guide**](https://example.org/guide#x).\n\n3. one\n   - deep\n4. two\n\n" +
        "```js\nlet a = 1\n\nf()\n```\n\n| Name | Size |\n| --- | --- |\n| a\\|b | 1 |\n\n> Said.\n\nA cat"
    )
    assert.deepStrictEqual(page.links, [{ url: "https://example.org/guide#x", text: "the guide" }])
  })

  it("shows any text as it was: nothing in a text becomes markup", async () => {
    const marked = new Marked({ gfm: true })
    const word = fc.string({ unit: fc.constantFrom(..."ab1 *_`[]()<>#+-.!|~\\&=:;"), minLength: 1, maxLength: 30 })
    await fc.assert(
      fc.asyncProperty(word, async (text) => {
        const escaped = text.replace(/&/g, "&amp;").replace(/</g, "&lt;")
        const { markdown, text: plain } = await read(`<title>T</title><main><p>x ${escaped} x</p></main>`)
        const shown = await read(`<title>T</title><main>${marked.parse(markdown, { async: false })}</main>`)
        assert.strictEqual(shown.text, plain, markdown)
        assert.notMatch(marked.parse(markdown, { async: false }), /<(?!\/?p>|br)/)
      })
    )
  })

  it("R58: omits the first heading if it equals the title, and no other", async () => {
    const page = await read(`<title>Cats</title><main><h1>Cats</h1><p>Text.</p><h1>Cats</h1><p>More.</p></main>`)
    assert.strictEqual(page.title, "Cats")
    assert.strictEqual(page.markdown, "Text.\n\n# Cats\n\nMore.")
  })

  it("R58: has at most 200 links, absolute http(s), each once", async () => {
    const links = Array.from({ length: 300 }, (_, n) => `<li><a href="/p${n % 250}">page ${n}</a></li>`).join("")
    const other = `<p><a href="javascript:x">a</a> <a href="mailto:a@example.org">b</a> <a href="#c">c</a></p>`
    const page = await read(`<title>T</title><main>${other}<ul>${links}</ul></main>`)
    assert.lengthOf(page.links, 200)
    assert.lengthOf(new Set(page.links.map((link) => link.url)), 200)
    assert.deepStrictEqual(page.links[0], { url: "https://example.org/p0", text: "page 0" })
  })
})

describe("metadata", () => {
  it("R58: comes from JSON-LD, OpenGraph and the page", async () => {
    const page = await read(`<html lang="en-GB"><head><title>Big news | The Paper</title>
      <meta property="og:site_name" content="The Paper"><meta name="description" content="What happened.">
      <script type="application/ld+json">{"@graph":[{"@type":"NewsArticle","headline":"Big news","author":[{"name":"Ann Lee"},{"name":"Bo Day"}],"datePublished":"2026-10-02T09:30:00+0200"}]}</script>
      </head><body><main><p>Text.</p></main></body></html>`)
    const { author, description, language, published, siteName, title } = page
    assert.deepStrictEqual(
      { author, description, language, published, siteName, title },
      {
        title: "Big news",
        description: "What happened.",
        author: "Ann Lee, Bo Day",
        siteName: "The Paper",
        published: "2026-10-02T09:30:00+02:00",
        language: "en-GB"
      }
    )
  })

  it("R58: a date is as precise as the page states it, and null if it is none", async () => {
    const published = async (stated: string) =>
      (await read(`<title>T</title><meta property="article:published_time" content="${stated}"><p>Text</p>`)).published
    assert.strictEqual(await published("2026-10-02"), "2026-10-02")
    assert.strictEqual(await published("2026-10-02T09:30Z"), "2026-10-02T09:30Z")
    assert.strictEqual(await published("October 2, 2026"), "2026-10-02")
    assert.strictEqual(await published("Fri, 02 Oct 2026 09:30:00 GMT"), "2026-10-02T09:30:00Z")
    assert.isNull(await published("2026-02-31"))
    assert.isNull(await published("yesterday"))
  })

  it("is null where a page states nothing", async () => {
    const { author, description, language, published, siteName, title } = await read("<p>Text only.</p>")
    assert.deepStrictEqual([title, description, author, siteName, published, language], Array(6).fill(null))
  })
})

describe("charsets", () => {
  const cases: ReadonlyArray<readonly [string, Uint8Array, string | undefined, string]> = [
    ["the header's", bytesOf("<p>caf\xe9"), "text/html; charset=iso-8859-1", "café"],
    [
      "a byte-order mark before the header",
      bytesOf("\xef\xbb\xbf<p>caf\xc3\xa9"),
      "text/html; charset=iso-8859-1",
      "café"
    ],
    ["meta", bytesOf('<meta charset="shift_jis"><p>\x93\xfa\x96\x7b'), "text/html", "日本"],
    [
      "http-equiv",
      bytesOf('<meta http-equiv=content-type content="text/html; charset=koi8-r"><p>\xf7'),
      "text/html",
      "В"
    ],
    ["no meta in a comment", bytesOf('<!-- <meta charset="koi8-r"> --><p>caf\xc3\xa9'), "text/html", "café"],
    ["UTF-8 if valid", bytesOf("<p>caf\xc3\xa9"), "text/html", "café"],
    ["else windows-1252", bytesOf("<p>\x93caf\xe9\x94"), "text/html", "“café”"],
    ["UTF-16", bytesOf("\xff\xfeh\0i\0"), "text/plain", "hi"]
  ]
  for (const [name, bytes, contentType, text] of cases) {
    it(`R60: ${name}`, async () => assert.strictEqual((await read(bytes, contentType)).text, text))
  }
})

describe("kinds of documents", () => {
  it("reads JSON, plain text, Markdown, RSS and Atom", async () => {
    assert.strictEqual((await read(`{"a": 1}`, "application/json")).markdown, '```json\n{"a": 1}\n```')
    assert.strictEqual((await read(`{"a": 1}`, "application/ld+json")).text, '{"a": 1}')
    assert.strictEqual((await read("* plain *", "text/plain")).markdown, "* plain *")
    const markdown = await read("# Title\n\n- a\n- b [c](d)\n", "text/markdown")
    assert.deepStrictEqual([markdown.title, markdown.markdown], ["Title", "- a\n- b [c](https://example.org/docs/d)"])
    const atom = await read(
      `<feed xmlns="http://www.w3.org/2005/Atom"><title>F</title><entry><title>One</title><link href="https://example.org/1"/><summary>Text</summary></entry></feed>`,
      "application/atom+xml"
    )
    assert.strictEqual(atom.title, "F")
    assert.strictEqual(atom.markdown, "## [One](https://example.org/1)\n\nText")
  })

  it("R59: binary data under a text type is unsupported_media_type", async () => {
    for (const type of ["text/plain", "text/html", "text/markdown"]) {
      assert.strictEqual(await reading("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", type), "unsupported_media_type")
    }
  })

  it("R59: other types are unsupported_media_type", async () => {
    for (const type of ["image/png", "application/zip", "video/mp4", "application/octet-stream"]) {
      assert.strictEqual(await reading("data", type), "unsupported_media_type")
    }
    assert.strictEqual(await reading("<a>text</a>", "application/xml"), "unsupported_media_type")
  })

  it("R59: an empty shell has no_text", async () => {
    for (const html of [
      `<title>App</title><div id="root"></div><script src="a.js"></script>`,
      `<title>App</title><noscript>You need to enable JavaScript to run this app.</noscript><div id="app">Loading…</div>`,
      ""
    ]) {
      assert.strictEqual(await reading(html), "no_text")
    }
  })

  it("R59: a page that is only a challenge is forbidden; an article about challenges is not", async () => {
    const challenge = `<title>Just a moment...</title><body><h1>example.org</h1><p>Verify you are human by completing the action below.</p><script src="/cdn-cgi/challenge-platform/h/b/orchestrate.js"></script></body>`
    assert.strictEqual(await reading(challenge), "forbidden")
    const article = `<title>Are you a robot? How captchas work</title><main>${"<p>Sites verify you are human with puzzles that programs fail to solve in time.</p>".repeat(30)}</main>`
    assert.include((await read(article)).text, "puzzles")
  })
})

describe("R83: a document with very many elements or attributes is too large before its tree is complete", () => {
  const rss = "application/rss+xml"
  const xhtml = "application/xhtml+xml"
  for (const [name, body, contentType] of [
    ["HTML elements", "<p>a".repeat(100_001), undefined],
    ["HTML attributes", `<p alt dir href id lang role src title>a`.repeat(31_300), undefined],
    ["HTML comments", "<!---->".repeat(100_001), undefined],
    ["RSS", `<rss>${"<item/>".repeat(100_001)}</rss>`, rss],
    ["XHTML", `<html xmlns="http://www.w3.org/1999/xhtml"><body>${"<p/>".repeat(100_001)}</body></html>`, xhtml]
  ] as const) {
    it(name, async () => {
      const error = await reading(body, contentType).catch((error: unknown) => error)
      assert.instanceOf(error, DocumentTooLarge)
    })
  }

  it("unless it is within the limits", () => {
    let count = 0
    walk(parseTree("<p>".repeat(99_000)), () => ++count > 0)
    assert.strictEqual(count, 99_003)
  })

  it("and keeps only the attributes that are read", () => {
    const found: Array<string> = []
    walk(parseTree("<body onload=a><p onclick=a class=b data-x=c>d</p>"), ({ attrs, childNodes }) => {
      found.push(...attrs.map(({ name }) => name), ...childNodes.map(({ nodeName }) => nodeName))
      return true
    })
    assert.deepStrictEqual(found, ["head", "body", "p", "class", "#text"])
  })
})

describe("main text", () => {
  const paragraph = `<p>${"The committee met on Tuesday, and after a long debate, it decided to build the bridge. ".repeat(4)}</p>`

  it("R60: of an article has no navigation, related links or labels", async () => {
    const page =
      await read(`<title>Bridge</title><body><nav><a href="/">Home</a></nav><article><h1>Bridge</h1>${paragraph.repeat(3)}
      <p>Related:</p><ul><li><a href="/1">Another bridge opens</a></li><li><a href="/2">A third one</a></li></ul>
      <div class="newsletter-signup"><p>Get our newsletter every day</p></div>${paragraph}</article><footer>Imprint</footer></body>`)
    assert.notMatch(page.text, /Home|Related|Another bridge|newsletter|Imprint/)
    assert.lengthOf(page.text.split("\n\n"), 4)
  })

  it("R60: of a listing, documentation or a forum is the whole main region", async () => {
    const rows = Array.from(
      { length: 30 },
      (_, n) => `<tr><td>${n}.</td><td><a href="/i${n}">Story number ${n}</a></td></tr>`
    )
    const listing = await read(`<title>News</title><body><table>${rows.join("")}</table></body>`)
    assert.include(listing.text, "Story number 29")
    const posts = Array.from(
      { length: 10 },
      (_, n) => `<div class="post"><b>user${n}</b>${paragraph}<p>Post ${n} ends.</p></div>`
    )
    const forum = await read(`<title>Thread</title><body><nav>Menu</nav><main>${posts.join("")}</main></body>`)
    for (let n = 0; n < 10; n++) assert.include(forum.text, `Post ${n} ends.`)
  })
})
